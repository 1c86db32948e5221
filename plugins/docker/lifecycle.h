#ifndef SANDLOT_DOCKER_LIFECYCLE_H
#define SANDLOT_DOCKER_LIFECYCLE_H

#include <sandlot/sdk/function_of.h>

/* Functions of the table. */
FUNCTION_OF(sandlot_provider, delete_sandbox, lifecycle_delete);
FUNCTION_OF(sandlot_provider, list, lifecycle_list);
FUNCTION_OF(sandlot_provider, pause, lifecycle_pause);
FUNCTION_OF(sandlot_provider, resume, lifecycle_resume);
FUNCTION_OF(sandlot_provider, check, lifecycle_check);

#endif

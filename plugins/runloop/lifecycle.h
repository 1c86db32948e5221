/* What can be done with a devbox by its id, without a handle. */
#ifndef SANDLOT_RUNLOOP_LIFECYCLE_H
#define SANDLOT_RUNLOOP_LIFECYCLE_H

#include <sandlot/sdk/function_of.h>

FUNCTION_OF(sandlot_provider, delete_sandbox, lifecycle_delete);
FUNCTION_OF(sandlot_provider, list, lifecycle_list);
FUNCTION_OF(sandlot_provider, pause, lifecycle_pause);
FUNCTION_OF(sandlot_provider, resume, lifecycle_resume);
FUNCTION_OF(sandlot_provider, fork, lifecycle_fork);

#endif

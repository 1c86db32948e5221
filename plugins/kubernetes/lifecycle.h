/* Listing, deleting, pausing and resuming. */
#ifndef SANDLOT_KUBERNETES_LIFECYCLE_H
#define SANDLOT_KUBERNETES_LIFECYCLE_H

#include "api.h"

FUNCTION_OF(sandlot_provider, delete_sandbox, lifecycle_delete);
FUNCTION_OF(sandlot_provider, list, lifecycle_list);
FUNCTION_OF(sandlot_provider, pause, lifecycle_pause);
FUNCTION_OF(sandlot_provider, resume, lifecycle_resume);

#endif

/* Deleting, listing, pausing, resuming and forking sandboxes. */
#ifndef SANDLOT_VERCEL_LIFECYCLE_H
#define SANDLOT_VERCEL_LIFECYCLE_H

#include "sandbox.h"

FUNCTION_OF(sandlot_provider, delete_sandbox, lifecycle_delete);
FUNCTION_OF(sandlot_provider, list, lifecycle_list);
FUNCTION_OF(sandlot_provider, pause, lifecycle_pause);
FUNCTION_OF(sandlot_provider, resume, lifecycle_resume);
FUNCTION_OF(sandlot_provider, fork, lifecycle_fork);

#endif

/* The life of sandboxes without a handle, and snapshots. */
#ifndef SANDLOT_DENO_LIFECYCLE_H
#define SANDLOT_DENO_LIFECYCLE_H

#include "api.h"

FUNCTION_OF(sandlot_provider, delete_sandbox, lifecycle_delete);
FUNCTION_OF(sandlot_provider, snapshot, lifecycle_snapshot);
FUNCTION_OF(sandlot_provider, list_snapshots, lifecycle_list_snapshots);
FUNCTION_OF(sandlot_provider, delete_snapshot, lifecycle_delete_snapshot);

#endif

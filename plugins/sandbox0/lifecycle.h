/* What is done with sandboxes by their ids, and with what is kept of them. */
#ifndef SANDBOX0_LIFECYCLE_H
#define SANDBOX0_LIFECYCLE_H

#include "sandbox.h"

FUNCTION_OF(sandlot_provider, delete_sandbox, lifecycle_delete);
FUNCTION_OF(sandlot_provider, list, lifecycle_list);
FUNCTION_OF(sandlot_provider, pause, lifecycle_pause);
FUNCTION_OF(sandlot_provider, resume, lifecycle_resume);
FUNCTION_OF(sandlot_provider, fork, lifecycle_fork);

FUNCTION_OF(sandlot_provider, snapshot, snapshot_make);
FUNCTION_OF(sandlot_provider, list_snapshots, snapshot_list);
FUNCTION_OF(sandlot_provider, delete_snapshot, snapshot_delete);

#endif

/* Listing, deleting, pausing and copying sandboxes; their snapshots. */
#ifndef SANDLOT_E2B_LIFECYCLE_H
#define SANDLOT_E2B_LIFECYCLE_H

#include "record.h"

FUNCTION_OF(sandlot_provider, delete_sandbox, lifecycle_delete);
FUNCTION_OF(sandlot_provider, list, lifecycle_list);
FUNCTION_OF(sandlot_provider, pause, lifecycle_pause);
FUNCTION_OF(sandlot_provider, resume, lifecycle_resume);
FUNCTION_OF(sandlot_provider, fork, lifecycle_fork);

FUNCTION_OF(sandlot_provider, snapshot, snapshots_make);
FUNCTION_OF(sandlot_provider, list_snapshots, snapshots_list);
FUNCTION_OF(sandlot_provider, delete_snapshot, snapshots_delete);

#endif

/* Snapshots: the state of a sandbox under a name, to start others from. */
#ifndef SANDLOT_DAYTONA_SNAPSHOTS_H
#define SANDLOT_DAYTONA_SNAPSHOTS_H

#include "api.h"

#include <sandlot/sdk/function_of.h>

FUNCTION_OF(sandlot_provider, snapshot, snapshots_make);
FUNCTION_OF(sandlot_provider, list_snapshots, snapshots_list);
FUNCTION_OF(sandlot_provider, delete_snapshot, snapshots_delete);

/* NAME cannot be started from. If that is because nobody used it for a while, it is made usable again: *ACTIVE. */
enum sandlot_status snapshots_activate(struct sandlot_call *call, struct daytona *daytona, const char *name,
                                       bool *active);

#endif

/* Snapshots. They have ids and no names. */
#ifndef SANDLOT_VERCEL_SNAPSHOTS_H
#define SANDLOT_VERCEL_SNAPSHOTS_H

#include "sandbox.h"

/* Keeps the state of sandbox NAME. *ID: of the snapshot, to be freed. Ends the session; the next use begins another. */
enum sandlot_status snapshots_take(struct sandlot_call *call, struct vercel *vercel, const char *name, char **id);

FUNCTION_OF(sandlot_provider, snapshot, snapshots_make);
FUNCTION_OF(sandlot_provider, list_snapshots, snapshots_list);
FUNCTION_OF(sandlot_provider, delete_snapshot, snapshots_delete);

#endif

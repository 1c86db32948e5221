/* What the keeper does for snapshots, which its clients make: it removes what nobody needs any more. */
#ifndef SANDLOT_LOCAL_KEEPER_SNAPSHOTS_H
#define SANDLOT_LOCAL_KEEPER_SNAPSHOTS_H

#include "state.h"

/*
 * Removes the layers that no snapshot has and for which IN_USE is false, and what was left of snapshots that were not
 * finished. False: not now, for a client makes or uses one, who holds a lock on the folder of the layers (snapshots.h).
 */
bool snapshots_sweep(const struct state *state, bool (*in_use)(const void *context, const char *id),
                     const void *context);

/* Does a snapshot stand on the unpacked archive KEY? True also if that cannot be told. */
bool snapshots_use_archive(const struct state *state, const char *key);

#endif

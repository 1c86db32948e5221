/* Disk snapshots. */
#ifndef SANDLOT_RUNLOOP_SNAPSHOTS_H
#define SANDLOT_RUNLOOP_SNAPSHOTS_H

#include "api.h"

FUNCTION_OF(sandlot_provider, snapshot, snapshots_make);
FUNCTION_OF(sandlot_provider, list_snapshots, snapshots_list);
FUNCTION_OF(sandlot_provider, delete_snapshot, snapshots_delete);

/* Is TEXT in the form of a snapshot's id? */
bool snapshots_is_id(const char *text);

/* The id, to be freed, of the snapshot called NAME; NULL: there is none. */
enum sandlot_status snapshots_find(struct sandlot_call *call, struct runloop *runloop, const char *name, char **id);

/* Makes a snapshot called NAME of devbox ID and waits for it. *SNAPSHOT: its id, to be freed, as soon as it is known.
 */
enum sandlot_status snapshots_capture(struct sandlot_call *call, struct runloop *runloop, const char *id,
                                      const char *name, char **snapshot);

/* Deletes by id. What is not there is deleted. */
enum sandlot_status snapshots_remove(struct sandlot_call *call, struct runloop *runloop, const char *id);

#endif

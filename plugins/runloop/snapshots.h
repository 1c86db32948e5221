/* Disk snapshots. */
#ifndef SANDLOT_RUNLOOP_SNAPSHOTS_H
#define SANDLOT_RUNLOOP_SNAPSHOTS_H

#include "api.h"

enum sandlot_status snapshots_make(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                   const struct sandlot_sink *result);
enum sandlot_status snapshots_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing);
enum sandlot_status snapshots_delete(struct sandlot_call *call, void *provider, const char *name);

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

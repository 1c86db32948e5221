/* Snapshots: what sandboxes start from. */
#ifndef SANDLOT_LANGSMITH_SNAPSHOT_H
#define SANDLOT_LANGSMITH_SNAPSHOT_H

#include "api.h"

/*
 * The id of the snapshot NAME ("name" or "name:tag"), to be freed. One that is missing is built from the image of the
 * parameters, and waited for; one that exists but is not ready is an error, never a second build.
 */
enum sandlot_status snapshot_find_or_build(struct sandlot_call *call, struct api *api, const char *name, char **id);

/* Keeps the disk of sandbox BOX under NAME, and waits until that is done. */
enum sandlot_status snapshot_capture(struct sandlot_call *call, void *api, const char *box, const char *name,
                                     const struct sandlot_sink *result);

enum sandlot_status snapshot_list(struct sandlot_call *call, void *api, const char *cursor,
                                  const struct sandlot_listing *listing);

/* NAME: also an id. */
enum sandlot_status snapshot_delete(struct sandlot_call *call, void *api, const char *name);

#endif

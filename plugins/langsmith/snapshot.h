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
FUNCTION_OF(sandlot_provider, snapshot, snapshot_capture);

FUNCTION_OF(sandlot_provider, list_snapshots, snapshot_list);

/* NAME: also an id. */
FUNCTION_OF(sandlot_provider, delete_snapshot, snapshot_delete);

#endif

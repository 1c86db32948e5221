/* Snapshots: images that the engine makes of containers, under names of our own that no registry has. */
#ifndef SANDLOT_DOCKER_SNAPSHOTS_H
#define SANDLOT_DOCKER_SNAPSHOTS_H

#include "engine.h"

/* What to start from for snapshot NAME, to be freed: its image, or that of the engine with this name. */
enum sandlot_status snapshots_image(struct sandlot_call *call, struct docker *docker, const char *name, char **image);

/* Functions of the table. */
FUNCTION_OF(sandlot_provider, snapshot, snapshots_make);
FUNCTION_OF(sandlot_provider, list_snapshots, snapshots_list);
FUNCTION_OF(sandlot_provider, delete_snapshot, snapshots_delete);

#endif

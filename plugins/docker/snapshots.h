/* Snapshots: images that the engine makes of containers, under names of our own that no registry has. */
#ifndef SANDLOT_DOCKER_SNAPSHOTS_H
#define SANDLOT_DOCKER_SNAPSHOTS_H

#include "engine.h"

/* What to start from for snapshot NAME, to be freed: its image, or that of the engine with this name. */
enum sandlot_status snapshots_image(struct sandlot_call *call, struct docker *docker, const char *name, char **image);

/* Functions of the table. */
enum sandlot_status snapshots_make(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                   const struct sandlot_sink *result);
enum sandlot_status snapshots_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing);
enum sandlot_status snapshots_delete(struct sandlot_call *call, void *provider, const char *name);

#endif

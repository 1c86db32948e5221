/* Images: pulled where they are missing. */
#ifndef SANDLOT_DOCKER_IMAGE_H
#define SANDLOT_DOCKER_IMAGE_H

#include "engine.h"

/* Pulls IMAGE, with progress. */
enum sandlot_status image_pull(struct sandlot_call *call, struct docker *docker, const char *image);

/* Is IMAGE there? */
enum sandlot_status image_look(struct sandlot_call *call, struct docker *docker, const char *image, bool *there);

/* IMAGE apart, both to be freed: what is before the tag or digest, and that ("latest" if there is none). False: out of
 * memory. */
bool image_split(const char *image, char **repository, char **tag);

#endif

/* What the configuration of an image says of who starts in it. It is as little to be trusted as the rest of the image.
 */
#ifndef SANDLOT_LOCAL_IMAGE_CONFIG_H
#define SANDLOT_LOCAL_IMAGE_CONFIG_H

#include "image.h"

/*
 * Reads TEXT, the configuration of the image whose files are in the folder ROOT_FD (O_PATH), into IMAGE; the user's
 * name and home are looked up in its etc/passwd. False when it is no configuration, or out of memory.
 */
bool image_config_read(const char *text, int root_fd, struct image *image);

#endif

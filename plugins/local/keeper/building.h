/* How a box comes to be: its user, folders, sockets and groups are made, then its init is started. */
#ifndef SANDLOT_LOCAL_BUILDING_H
#define SANDLOT_LOCAL_BUILDING_H

#include "../settings.h"
#include "boxes.h"

/* Makes a box as SETTINGS says; SECRETS_FD, which it closes, goes with credentials (-1: none). NULL with REASON, and an
 * enum sandlot_status in *STATUS; nothing is left of it then. */
struct box *building_make(struct keeper *keeper, const struct settings *settings, int secrets_fd, uint32_t *status,
                          char *reason, size_t size);

#endif

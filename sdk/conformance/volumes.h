/* Storage that outlives sandboxes. */
#ifndef SANDLOT_CONFORMANCE_VOLUMES_H
#define SANDLOT_CONFORMANCE_VOLUMES_H

#include "live.h"

/* A volume is made, written to, refused to a second writer, read by the next sandbox, listed and deleted, where the
 * provider has volumes. */
void check_volumes(const struct live *live);

#endif

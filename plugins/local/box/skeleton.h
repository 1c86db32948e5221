/*
 * What stands in "/" of boxes that show the host's system: all places for mounts, the links, and the few files of /etc
 * that say who a box is. It is made once and shown to every box read-only, because inodes in memory of its own would
 * cost each box some 80 KiB.
 */
#ifndef SANDLOT_LOCAL_SKELETON_H
#define SANDLOT_LOCAL_SKELETON_H

#include "box.h"

#include <stdbool.h>
#include <stddef.h>

/* An empty folder of it: what folders of /proc are covered by. */
#define SKELETON_EMPTY "mnt"

/*
 * Opens (O_PATH) the skeleton in the folder VIEWS_FD that fits this host as it is now, and the COUNT places of MOUNTS,
 * and makes it where there is none. Its name is a digest of all that is in it, so one that boxes live on never changes.
 * -1 with REASON.
 */
int skeleton_open(int views_fd, bool fake_root, const struct box_mount *mounts, size_t count, char *reason,
                  size_t size);

#endif

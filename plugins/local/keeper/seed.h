/* Folders of the host that a box is shown: the seed of its workspace, and its root file system. They are never changed.
 */
#ifndef SANDLOT_LOCAL_SEED_H
#define SANDLOT_LOCAL_SEED_H

#include "../settings.h"

#include <stddef.h>
#include <sys/types.h>

/* Whom folders are opened for. */
struct seed_viewer {
    uid_t uid;
    gid_t gid;
    int map_fd; /* a user namespace that says as whom the owner of the last folder appears; -1: none yet */
    uid_t owner_uid;
    gid_t owner_gid;
};

/* Closes what opening folders for VIEWER has left for the next one of the same owner. */
void seed_viewer_clear(struct seed_viewer *viewer);

/*
 * Opens the folder PATH so that a box of VIEWER can read it: an O_PATH descriptor, and where that is not the caller
 * itself a read-only clone of the mount in which the folder's owner appears as VIEWER. -1 with REASON.
 */
int seed_open(const char *path, struct seed_viewer *viewer, char *reason, size_t size);

/* The same for a path that begins at FOLDER_FD. */
int seed_open_at(int folder_fd, const char *path, struct seed_viewer *viewer, char *reason, size_t size);

/*
 * Opens the folder SHOWN, which must still be the one that was judged, for a box of UID: an O_PATH descriptor, and
 * where UID is not the caller's own a read-only clone of the mount, in which owners and modes are what they are. -1
 * with REASON.
 */
int seed_open_shown(const struct shown *shown, uid_t uid, char *reason, size_t size);

/*
 * Opens the volume FOLDER_FD, an O_PATH descriptor which it takes over, for a box of VIEWER: itself, and where that is
 * not the caller itself a clone of the mount in which the folder's owner appears as VIEWER. -1 with REASON.
 */
int seed_open_volume(int folder_fd, struct seed_viewer *viewer, char *reason, size_t size);

#endif

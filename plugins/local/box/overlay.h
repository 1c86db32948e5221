/* Overlays: folders that show others below them, and take what is changed. */
#ifndef SANDLOT_LOCAL_OVERLAY_H
#define SANDLOT_LOCAL_OVERLAY_H

#include "layers.h"

#include <stddef.h>
#include <sys/mount.h>

enum { MOUNT_HARMLESS = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };

struct option {
    const char *key;
    const char *value; /* NULL: a flag */
};

/* A new file system of TYPE, not yet anywhere. OPTIONS end with a NULL key. -1 with errno. */
int file_system_new(const char *type, const struct option *options, unsigned attributes);

/*
 * What a box needs for other overlays later (keeper/turn.h) its mount namespace has where no path of the box leads:
 * the storage, covered by /proc, and mounted in it what the box lies on. Their names in the storage:
 */
#define KEPT_SEED "kept-seed" /* the folder of the host that is the workspace's beginning */
#define KEPT_LAYER "kept"
enum { KEPT_NAME_SIZE = 32 };
void kept_name(char name[KEPT_NAME_SIZE], size_t layer); /* a layer that the box began with, 0: the newest */

/* The places of a box that have an overlay or can get one, by enum layer_place. */
enum { KEPT_PLACES = LAYER_ROOT };
extern const char *const kept_paths[KEPT_PLACES];

/* What the keeper gets of it: the storage, the user namespace and the mount namespace. */
enum { KEPT_STORAGE, KEPT_USER, KEPT_MOUNTS, KEPT_FDS };

/* What an overlay lies over, from the uppermost down. */
struct lowers {
    int fds[LAYERS_MOST + 1];
    size_t count;
};

#define PROC_FDS "/proc/self/fd"

/*
 * An overlay over LOWERS, not yet anywhere, whose changes go to the folders UPPER and WORK of STORAGE, which are there.
 * The working folder of this process must be PROC_FDS: an option of the kernel has room for 255 bytes, so that folders
 * are named by their numbers alone. -1 with errno.
 */
int overlay_new(const struct lowers *lowers, int storage, const char *upper, const char *work);

#endif

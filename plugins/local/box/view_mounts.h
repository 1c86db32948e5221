/* Mounts of a box's view while it is built: what they are made of, and how they come to their places. */
#ifndef SANDLOT_LOCAL_VIEW_MOUNTS_H
#define SANDLOT_LOCAL_VIEW_MOUNTS_H

#include "overlay.h"
#include "reason.h"
#include "view_folders.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/types.h>

enum {
    MOUNT_SYSTEM = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_RDONLY,
    MOUNT_DEVICE = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY,
    MOUNT_KERNEL = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC
};

/* A view that is being built. */
struct view {
    const struct box_request *request;
    const struct view_folders *folders;
    int root; /* the mount that becomes "/" */
    struct reason *reason;
};

/* Opens PATH below the new root and never outside: links of a hostile root file system lead nowhere else. -1 with
 * errno. */
int view_open(const struct view *view, const char *path, uint64_t flags, mode_t mode);

/* The same, and through no link at all. */
int view_open_straight(const struct view *view, const char *path);

/* Makes the folder PATH with all above it, and opens it. -1 with errno. */
int view_make_folder(const struct view *view, const char *path);

/* Opens PATH as a place for a mount, and makes it if need be: a folder, or an empty file. -1 with errno. */
int view_make_place(const struct view *view, const char *path, bool folder);

/* A copy of the mount at PATH ("": the very one) of FOLDER_FD with all below it, with ATTRIBUTES set everywhere before
 * anybody can see it. Of a link it is the link itself. -1 with errno. */
int view_clone_tree(int folder_fd, const char *path, uint64_t attributes);

/* A copy of the mount of FOLDER_FD alone, without what is mounted below it. -1 with errno. */
int view_clone_folder(int folder_fd, uint64_t attributes);

/* A file system in memory. -1 with errno. */
int view_new_memory(const char *size, const char *inodes, const char *mode, unsigned attributes);

/* Moves the mount TREE onto TARGET_FD. -1 with errno, also where one of them is -1. */
int view_put(int tree, int target_fd);

/* Puts the mount TREE at PATH. Takes over TREE, which may be -1 with errno. -1: the reason says why the mount of this
 * TYPE failed. */
int view_place(const struct view *view, const char *type, int tree, const char *path, bool folder);

#endif

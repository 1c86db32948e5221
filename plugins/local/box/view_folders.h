/* The folders that a box is made of, found by its init in its own mount namespace. */
#ifndef SANDLOT_LOCAL_VIEW_FOLDERS_H
#define SANDLOT_LOCAL_VIEW_FOLDERS_H

#include "box.h"
#include "reason.h"

/* The folders of a box_request, as the mount namespace of the box sees them. -1: there is none. */
struct view_folders {
    int storage;
    int workspace;
    int rootfs;
    int skeleton;
    int authority;
    int mounts[BOX_MOUNTS];
    int layers[LAYERS_MOST];
};

/*
 * Finds the folders of REQUEST in this process's own mount namespace: the kernel mounts nothing from a descriptor of
 * another. To be called right after the clone, while this is still the caller's user, who alone may walk to them.
 * PLANTED: all but the storage come from view_folders_plant.
 */
int view_folders_find(const struct box_request *request, bool planted, struct view_folders *folders,
                      struct reason *reason);

/*
 * For root, whose workspace, rootfs and mounts are trees without a place (idmapped, or made for this box): the kernel
 * lets no box use them as they are, so the keeper mounts them in the mount namespace of the box's init, PIDFD, where
 * view_folders_find_planted finds them.
 */
int view_folders_plant(const struct box_request *request, int pidfd, struct reason *reason);
int view_folders_find_planted(const struct box_request *request, struct view_folders *folders, struct reason *reason);

#endif

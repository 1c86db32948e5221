/*
 * Snapshots of sandboxes that are no full boxes: copies of their files, which others begin with another copy of. Those
 * of full boxes are the provider local's (grounds.h).
 */
#ifndef VFS_SNAPSHOTS_H
#define VFS_SNAPSHOTS_H

#include "tree.h"
#include "vfs.h"

/* The folder of snapshot NAME, which is not removed while the descriptor is open; -1: there is none. */
int snapshot_open(const struct vfs *vfs, const char *name);

/* Keeps a copy of the files of FROM under NAME. */
enum sandlot_status snapshot_make(struct sandlot_call *call, const struct vfs *vfs, const struct place *from,
                                  const char *name);
enum sandlot_status snapshot_list(const struct vfs *vfs, const struct sandlot_listing *listing);
enum sandlot_status snapshot_delete(struct sandlot_call *call, const struct vfs *vfs, const char *name);

/* What is said of a NAME that is none. */
enum sandlot_status snapshot_not_found(struct sandlot_call *call, const char *name);
enum sandlot_status snapshot_exists(struct sandlot_call *call, const char *name);

#endif

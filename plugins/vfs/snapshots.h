/* Snapshots: folders of the store that never change, on which any number of boxes stand copy-on-write. */
#ifndef VFS_SNAPSHOTS_H
#define VFS_SNAPSHOTS_H

#include "tree.h"
#include "vfs.h"

/* One that is not to be removed meanwhile: LOCK keeps it. */
struct snapshot {
    char path[320];
    uint64_t inode;
    int lock; /* its folder; to be closed */
};

enum sandlot_status snapshot_find(struct sandlot_call *call, const struct vfs *vfs, const char *name,
                                  struct snapshot *snapshot);

/* Keeps a copy of the files of FROM under NAME. */
enum sandlot_status snapshot_make(struct sandlot_call *call, const struct vfs *vfs, const struct place *from,
                                  const char *name);
enum sandlot_status snapshot_list(const struct vfs *vfs, const struct sandlot_listing *listing);
enum sandlot_status snapshot_delete(struct sandlot_call *call, struct vfs *vfs, const char *name);

/* Removes deleted snapshots that no box stands on any more. */
void snapshot_sweep(struct sandlot_call *call, struct vfs *vfs);

#endif

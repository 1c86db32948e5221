/* Boxes of the provider local: what they stand on, and making, finding and ending them. */
#ifndef VFS_GROUNDS_H
#define VFS_GROUNDS_H

#include "vfs.h"

/*
 * The ground that makes boxes confined so, with the folder WORKSPACE (NULL: none) under theirs; opened if it is not
 * yet. It lives until `close`. NULL with *STATUS.
 */
struct ground *ground_find(struct sandlot_call *call, struct vfs *vfs, bool landlock, const char *workspace,
                           enum sandlot_status *status);
void grounds_clear(struct vfs *vfs);

/* Makes a box behind the strongest walls that there are. WORKSPACE is a folder with that INODE of the store, or NULL.
 */
enum sandlot_status ground_create(struct sandlot_call *call, struct vfs *vfs, const struct sandlot_create *request,
                                  const char *workspace, uint64_t inode, struct sandbox *sandbox);
enum sandlot_status ground_attach(struct sandlot_call *call, struct vfs *vfs, const char *id, struct sandbox *sandbox);
enum sandlot_status ground_delete(struct sandlot_call *call, struct vfs *vfs, const char *id);
enum sandlot_status ground_list(struct sandlot_call *call, struct vfs *vfs, const struct sandlot_listing *listing);

#endif

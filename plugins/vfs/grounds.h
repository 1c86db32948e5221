/* Boxes of the provider local: what they stand on, and making, finding and ending them. */
#ifndef VFS_GROUNDS_H
#define VFS_GROUNDS_H

#include "vfs.h"

/* The ground that makes boxes confined so; opened if it is not yet. It lives until `close`. NULL with *STATUS. */
struct ground *ground_find(struct sandlot_call *call, struct vfs *vfs, bool landlock, enum sandlot_status *status);
void grounds_clear(struct vfs *vfs);

/* Makes a box behind the strongest walls that there are. */
enum sandlot_status ground_create(struct sandlot_call *call, struct vfs *vfs, const struct sandlot_create *request,
                                  struct sandbox *sandbox);
enum sandlot_status ground_attach(struct sandlot_call *call, struct vfs *vfs, const char *id, struct sandbox *sandbox);
enum sandlot_status ground_delete(struct sandlot_call *call, struct vfs *vfs, const char *id);
enum sandlot_status ground_list(struct sandlot_call *call, struct vfs *vfs, const struct sandlot_listing *listing);

/* Forgets which boxes had no view of their own, of those that are no more. */
void ground_sweep(struct sandlot_call *call, struct vfs *vfs);

/* Snapshots and forks of boxes with full walls, which local makes without copying anything where it can. */
enum sandlot_status ground_snapshot(struct sandlot_call *call, struct vfs *vfs, const char *id, const char *name,
                                    const struct sandlot_sink *result);
enum sandlot_status ground_list_snapshots(struct sandlot_call *call, struct vfs *vfs,
                                          const struct sandlot_listing *listing);
enum sandlot_status ground_delete_snapshot(struct sandlot_call *call, struct vfs *vfs, const char *name);
enum sandlot_status ground_fork(struct sandlot_call *call, struct vfs *vfs, const char *id,
                                const struct sandlot_create *request);

#endif

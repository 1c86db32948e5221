/*
 * Sandboxes where no wall can be had: a folder each of the store, whose files are served and in which nothing runs.
 *
 *   bare/ID/root/workspace/  the files
 *   bare/ID/record           a link that leads nowhere: its label and its times; whoever uses the sandbox touches it
 *
 * A sandbox that is not to be kept hangs on a lock of its folder, which ends with the process that has it. What nobody
 * holds, or what is past its time, is removed by the next one who looks.
 */
#ifndef VFS_BARE_H
#define VFS_BARE_H

#include "tree.h"
#include "vfs.h"

/* Makes one, and tells its id to the host. */
enum sandlot_status bare_create(struct sandlot_call *call, struct vfs *vfs, const struct sandlot_create *request,
                                struct sandbox *sandbox);
enum sandlot_status bare_attach(struct sandlot_call *call, struct vfs *vfs, const char *id, struct sandbox *sandbox);
enum sandlot_status bare_delete(struct sandlot_call *call, struct vfs *vfs, const char *id);
enum sandlot_status bare_list(struct vfs *vfs, const struct sandlot_listing *listing);
enum sandlot_status bare_root(struct sandlot_call *call, struct vfs *vfs, const char *id, struct sandlot_root *root);

/* Lets go of sandbox ID, or with NULL of all. */
void bare_end_leases(struct vfs *vfs, const char *id);

/* Removes what nobody has any more. */
void bare_sweep(struct vfs *vfs);

#endif

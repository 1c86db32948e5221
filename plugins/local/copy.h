/* Copies a folder for a box that has no copy-on-write. */
#ifndef SANDLOT_LOCAL_COPY_H
#define SANDLOT_LOCAL_COPY_H

#include <sandlot/provider.h>

/*
 * Copies what is in the folder PATH into the empty folder TARGET_FD, for the user UID and group GID: regular files,
 * folders and links, with their modes and times, without set-user-id bits. Links are copied, never followed. What is
 * of another kind or cannot be read is left out. At most LIMIT bytes. Tells the host what was copied, or why not.
 */
enum sandlot_status copy_folder(struct sandlot_call *call, const char *path, int target_fd, uint32_t uid, uint32_t gid,
                                uint64_t limit);

#endif

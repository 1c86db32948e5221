/*
 * A root file system that comes as an archive. It is unpacked once, by the host's tar in a box of its own, because an
 * archive is as little to be trusted as a command; what it unpacked is kept as STATE/rootfs/KEY and used like a folder.
 */
#ifndef SANDLOT_LOCAL_ROOTFS_H
#define SANDLOT_LOCAL_ROOTFS_H

#include "client.h"
#include "settings.h"

/*
 * Sees to it that the archive PATH lies unpacked in the state folder, and gives the KEY under which it does. DISK_MB is
 * what it may take there. Anything but SANDLOT_OK has been told to the host, and has left nothing behind.
 */
enum sandlot_status rootfs_unpack(struct client *client, struct sandlot_call *call, const char *path, int64_t disk_mb,
                                  char key[ARCHIVE_KEY_SIZE]);

#endif

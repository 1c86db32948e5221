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

/* Is what has KEY there? Then it counts as used now. */
bool rootfs_is_unpacked(struct client *client, const char *key);

/* The name of the image in its layout, and of its configuration in KEY/home. */
#define IMAGE_TAG "sandlot"
#define IMAGE_CONFIG "config.json"

/* An image that was fetched. */
struct image_layout {
    const char *name;   /* for messages */
    const char *key;    /* IMAGE_KEY and a digest */
    const char *folder; /* absolute: an OCI image layout, in which it is IMAGE_TAG */
    const struct sandlot_source *config;
};

/* Unpacks an image with umoci, in a box of its own that sees nothing but the layout. Returns like rootfs_unpack. */
enum sandlot_status rootfs_unpack_image(struct client *client, struct sandlot_call *call,
                                        const struct image_layout *image, int64_t disk_mb);

#endif

/*
 * The parameter `image`: a container's image from a registry, or a path to one, as a box's root file system. skopeo
 * fetches it, umoci unpacks it in a box of its own (rootfs.h), both of this machine.
 */
#ifndef SANDLOT_LOCAL_IMAGE_H
#define SANDLOT_LOCAL_IMAGE_H

#include "client.h"
#include "settings.h"

/* What an image says of who starts in it. */
struct image {
    char key[ARCHIVE_KEY_SIZE]; /* where it lies unpacked */
    bool root;                  /* its user is uid 0 */
    char *environment;          /* as in struct settings */
    char *start_dir;            /* absolute; NULL: none but "/" */
    char *shell;                /* absolute; NULL: what there is */
};

/*
 * Sees to it that the image REFERENCE ("debian:12", "registry.example/a/b@sha256:...", "oci:PATH[:TAG]",
 * "docker-archive:PATH[:NAME]") lies unpacked in the state folder, and reads what it says. DISK_MB is what it may take,
 * both packed and unpacked. Anything but SANDLOT_OK has been told to the host, and has left nothing behind. IMAGE is to
 * be cleared in any case.
 */
enum sandlot_status image_prepare(struct client *client, struct sandlot_call *call, const char *reference,
                                  int64_t disk_mb, struct image *image);

void image_clear(struct image *image);

#endif

/* Files as a tar archive that is read as it is made: the body of a request that stores them. */
#ifndef SANDLOT_DOCKER_TAR_SOURCE_H
#define SANDLOT_DOCKER_TAR_SOURCE_H

#include <sandlot/provider.h>

enum {
    TAR_BLOCK = 512,
    TAR_LONGEST_NAME = 100, /* with the zero at its end */
    TAR_FILE = '0',
    TAR_FOLDER = '5'
};

struct tar_source {
    struct sandlot_source source; /* to be read; its context is this struct, which must not be moved */
    uint64_t length;              /* of the archive */
    char type;                    /* of what is in it: TAR_FILE unless set */

    /* private */
    struct sandlot_call *call;
    const struct sandlot_file *files;
    size_t count;
    size_t skipped; /* of each path: what the archive is unpacked in */
    size_t next;    /* file */
    uint64_t left;  /* of the content at hand */
    uint64_t fill;  /* zeros behind it */
    char block[TAR_BLOCK];
    size_t block_left; /* of it */
};

/* COUNT files, of known lengths, directly in the folder whose path has FOLDER_LENGTH bytes; all belong to root. */
void tar_source_init(struct tar_source *tar, struct sandlot_call *call, const struct sandlot_file *files, size_t count,
                     size_t folder_length);

#endif

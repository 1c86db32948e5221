/* What an upload by stages knows of its files, for the files that make it up. */
#ifndef SANDLOT_SDK_LIB_STAGED_UPLOAD_H
#define SANDLOT_SDK_LIB_STAGED_UPLOAD_H

#include <sandlot/sdk/staged_upload.h>

enum { STAGED_NAME = 128, STAGED_PREFIX = 64 };

/* One file on its way. */
struct staged_file {
    const struct sandlot_file *file;
    struct sandlot_source source; /* reads `content`, else the file's own, and counts */
    uint64_t bytes;               /* that were read of it */
    char *content;                /* of one that was read before; NULL: none */
    size_t at;                    /* in the content */
    uint64_t begin;               /* in what it is stored with */
    const char *name;             /* of that */
    uint64_t stored;              /* how long that is; meaningless unless several are in it */
    bool together;                /* several are in it */
    bool told;                    /* its fate is known */
};

struct staged_upload {
    struct sandlot_call *call;
    const struct staged_upload_vendor *vendor;
    const struct sandlot_transfer *transfer;
    char prefix[STAGED_PREFIX];
    struct staged_file *files;
    size_t count;
    char (*names)[STAGED_NAME];
    char *first; /* what `store` wants the script to do first; NULL: nothing */
    bool begun;  /* something may have been stored that nobody has removed */
};

/* Stores all files by the vendor's `store`. *LOST: an answer was, so that the status is not the last word. */
enum sandlot_status staged_upload_store(struct staged_upload *upload, bool *lost);

void staged_upload_tell(struct staged_upload *upload, size_t index, const char *error);

/* The script for UPLOAD, to be freed; with the contents in it, if CARRIED. NULL: no memory. */
char *staged_upload_write(const struct staged_upload *upload, bool carried);

/* What it prints instead of fates if the sandbox cannot unpack contents. */
#define STAGED_LACKING "lacking\n"

#endif

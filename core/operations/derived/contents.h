/* Everything below a directory of the sandbox with its kind, length and digest, told by one command. */
#ifndef SANDLOT_OPERATIONS_DERIVED_CONTENTS_H
#define SANDLOT_OPERATIONS_DERIVED_CONTENTS_H

#include "operations/files.h"

#include <sys/types.h>

/* What the sandbox says of one path; it may lie. */
struct content {
    const char *path; /* below the directory, any bytes */
    mode_t mode;      /* as stat(2) has it */
    uint64_t bytes;
    const char *digest; /* SHA-256 of a file in hex digits, or ""; NULL: it is no file */
    const char *target; /* of a link; else NULL */
    bool closed;        /* a directory that cannot be read */
};

/* Calls EACH for everything below call->path, in any order, links not followed. EACH returns 0, or -1 with the error. 0
 * or -1. */
int contents_list(const struct file_call *call,
                  int (*each)(void *context, const struct content *content, struct sandlot_error *error), void *context,
                  struct sandlot_error *error);

/* The same from what the script has told: TEXT, LENGTH bytes. */
int contents_read(const char *text, size_t length,
                  int (*each)(void *context, const struct content *content, struct sandlot_error *error), void *context,
                  struct sandlot_error *error);

#endif

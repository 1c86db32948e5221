/*
 * Replacing a file as a whole: its new content goes into a temporary file beside it, which then takes its name. Where
 * that would be wrong (other hard links, a file that is a mount of its own) or is not allowed (a directory that takes
 * no new files) the file is rewritten in place, once all of its new content is there.
 */
#ifndef SANDLOT_NATIVE_REPLACE_H
#define SANDLOT_NATIVE_REPLACE_H

#include "operations/files.h"

#include <limits.h>
#include <sys/stat.h>

struct replacement {
    int folder_fd;                /* O_PATH, where the file is, links resolved; -1: none */
    int fd;                       /* where the new content goes; -1: none */
    bool in_place;                /* FD is only a place to gather it */
    bool exists;                  /* there is a file already */
    struct statx old;             /* of that */
    mode_t mode;                  /* permission bits of the new one */
    char name[NAME_MAX + 1];      /* of the file */
    char temporary[NAME_MAX + 1]; /* of the temporary file; "": none */
};

#define AUTO_REPLACEMENT CLEANUP(replacement_end)
#define NO_REPLACEMENT            \
    {                             \
        .folder_fd = -1, .fd = -1 \
    }

/* Is the file that STATUS describes still as it was BEFORE? */
bool replacement_same(const struct statx *status, const struct statx *before);

/*
 * Finds the file PATH inside ROOT_FD through links, makes its parents, and opens a place for its new content. MODE: of
 * a new file, 0: the usual; one that exists keeps its own. A file that exists must be writable. 0 or -1 with errno:
 * EISDIR for a directory, ENXIO for what is neither that nor a regular file.
 */
int replacement_begin(int root_fd, const char *path, mode_t mode, struct replacement *replacement);

/* Puts the new content, all that is in replacement->fd, into the file's place. EXPECTED (NULL: anything): ESTALE if
 * there is another file by now. Of several who rewrite a file in place each waits for its turn, ten seconds at most,
 * and no longer than CALL may. 0 or -1 with errno. */
int replacement_commit(const struct file_call *call, struct replacement *replacement, const struct statx *expected);

/* Replaces the file at call->path by LENGTH bytes of CONTENT. EXPECTED as for replacement_commit. 0 or -1 with errno.
 */
int native_put(const struct file_call *call, int root_fd, const void *content, size_t length,
               const struct statx *expected);

/* Closes what is open and removes the temporary file, if it is still there. */
void replacement_end(struct replacement *replacement);

#endif

/*
 * Files of this machine at the other end of a transfer. What is received goes to a temporary file beside its target
 * and gets its name when it is whole.
 */
#ifndef SANDLOT_OPERATIONS_LOCAL_FILE_H
#define SANDLOT_OPERATIONS_LOCAL_FILE_H

#include <sandlot/sandlot.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define LOCAL_SIZE_UNKNOWN UINT64_MAX

struct local_file {
    int fd;              /* to be read or written */
    bool owned;          /* FD is ours to close */
    int64_t start;       /* where it began, for a second try; -1: it cannot be wound back */
    uint64_t bytes;      /* to be read; LOCAL_SIZE_UNKNOWN */
    bool executable;     /* somebody may execute it */
    int folder_fd;       /* of the temporary file; -1: there is none */
    char *name;          /* of the target, in that folder */
    char temporary[40];  /* "": there is none (any more) */
    int64_t target_mode; /* permission bits of the file to be replaced; -1: there is none */
    int64_t target_uid;  /* and its owner */
    int64_t target_gid;
};

/* Each opens a file, 0 or -1; to be closed in any case. local_close removes a temporary file that was not named. */
void local_init(struct local_file *file);
void local_close(struct local_file *file);

/* A descriptor of the caller. */
int local_borrow(struct local_file *file, int fd, const char *shown, struct sandlot_error *error);

/* PATH for reading: a regular file, or a pipe, whose writer is waited for until CANCEL_FD becomes readable. */
int local_open_source(struct local_file *file, const char *path, int cancel_fd, struct sandlot_error *error);

/* PATH for writing. A folder: the file goes into it under the base name of REMOTE. A pipe or device: written to. */
int local_open_target(struct local_file *file, const char *path, const char *remote, struct sandlot_error *error);

/*
 * The file RELATIVE below FOLDER_FD for writing, its folders made. RELATIVE comes from a sandbox: every component is
 * checked, and no link is followed.
 */
int local_open_below(struct local_file *file, int folder_fd, const char *relative, struct sandlot_error *error);

/* Makes folder RELATIVE below FOLDER_FD, with the same caution. */
int local_make_below(int folder_fd, const char *relative, struct sandlot_error *error);

/* Back to the beginning, for a second try. False: that cannot be done. */
bool local_rewind(struct local_file *file);

/* Would a hole in FD, whose STATUS this is, from where it stands on, be read as zeros? It is not so where it
 * overwrites. */
bool local_stands_at_end(int fd, const struct stat *status);

/*
 * Writes all of BYTES where FD stands. In a regular file that ends there, blocks of zeros become holes: a sandbox could
 * fill this machine's disk with a file that takes none of its own. 0; -1 with errno.
 */
int local_write(int fd, const void *bytes, size_t length);

/* All has arrived: gives the file its name and mode. */
int local_commit(struct local_file *file, const char *shown, struct sandlot_error *error);

#endif

/*
 * The way to files through the descriptor of a sandbox's root. What runs in the sandbox may swap links and folders
 * at any moment: the kernel resolves every path inside the root, and what was opened is worked on by its descriptor.
 */
#ifndef SANDLOT_NATIVE_OPEN_H
#define SANDLOT_NATIVE_OPEN_H

#include "operations/files.h"
#include "operations/native/identity.h"

#include <sys/stat.h>

/* The root while one operation uses it. Zero but for fd, which is -1: none. */
struct native_root {
    struct sandlot_session *session;
    struct session_root *shared;
    int fd; /* O_PATH, of "/" */
    struct identity identity;
};

#define AUTO_ROOT CLEANUP(native_end)
#define NATIVE_NO_ROOT \
    {                  \
        .fd = -1       \
    }

/*
 * Takes the root of call->session, and acts as the sandbox's user on this thread until native_end. 0 or -1. A thread
 * that helps calls identity_assume with root->shared->uid and gid itself.
 */
int native_begin(const struct file_call *call, struct native_root *root, struct sandlot_error *error);
void native_end(struct native_root *root);

/*
 * Opens PATH, absolute or relative to the root, inside the root ROOT_FD, with FLAGS of open(2) but no O_CREAT; links
 * are followed unless O_NOFOLLOW. Never blocks, never becomes a controlling terminal, is closed on exec. -1 with errno.
 */
int native_open(int root_fd, const char *path, int flags);

/* Opens the directory (O_PATH) in which PATH ends; *NAME is the last component, inside PATH. EISDIR for "/". */
int native_open_parent(int root_fd, const char *path, const char **name);

/* Makes the directory PATH and its parents; fine if it is there. O_PATH, or -1 with errno. */
int native_make_folders(int root_fd, const char *path);

/* Opens the regular file at call->path for reading. -1 with the error: also for directories, pipes and the like. */
int native_open_file(const struct file_call *call, int root_fd, struct stat *status, struct sandlot_error *error);

/* Reads the file FD, said to be SIZE bytes long, from its beginning: all of it, or its first MAXIMUM bytes if it is
 * longer. To be freed; NULL with errno. */
char *native_load(const struct file_call *call, int fd, uint64_t size, size_t maximum, size_t *length);

/* 0, or the reason to stop: ECANCELED or ETIMEDOUT. */
int native_stop(const struct file_call *call);

/* errno REASON of an attempt to reach call->path as an error; names what is near it where nothing is there. -1. */
int native_failed(const struct file_call *call, int root_fd, int reason, struct sandlot_error *error);

/* Is this the root of a mount, which to the sandbox is no entry that could be removed or renamed? */
bool native_is_mount(const struct statx *status);

/* statx(2) of NAME in FOLDER_FD itself, links not followed; "": of FOLDER_FD. 0 or -1 with errno. */
int native_status(int folder_fd, const char *name, struct statx *status);

#endif

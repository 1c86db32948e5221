#include "base/cleanup.h"
#include "base/error.h"
#include "operations/entries.h"
#include "operations/file_error.h"
#include "operations/native/native.h"
#include "operations/native/open.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum {
    MOST_ENTRIES = 1000 * 1000,
    MOST_BYTES = 256 << 20, /* of the directory's path, which each entry repeats */
    LOOK_EVERY = 256        /* entries between two looks at the time */
};

static int64_t milliseconds(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Does PATH, a link, lead to a directory inside the root? */
static bool leads_to_directory(int root_fd, const char *path)
{
    AUTO_CLOSE int fd = native_open(root_fd, path, O_PATH | O_DIRECTORY);

    return fd >= 0;
}

/* What is known of the entry NAME of FOLDER_FD. False with errno. ENOENT: it has gone. */
static bool look_at(int folder_fd, const struct dirent *name, struct stat *status)
{
    if (fstatat(folder_fd, name->d_name, status, AT_SYMLINK_NOFOLLOW) == 0)
        return true;
    /* A directory that may be read but not searched: its names are known, and what they are. */
    *status = (struct stat){.st_mode = DTTOIF(name->d_type)};
    return errno == EACCES;
}

/* 0 or -1 with errno. */
static int add(const struct file_call *call, int root_fd, int folder_fd, const struct dirent *name,
               struct entries *entries)
{
    struct stat status;

    if (strcmp(name->d_name, ".") == 0 || strcmp(name->d_name, "..") == 0)
        return 0;
    if (!look_at(folder_fd, name, &status))
        return errno == ENOENT ? 0 : -1;
    if (entries->count == MOST_ENTRIES || entries->count * strlen(call->path) > MOST_BYTES) {
        errno = E2BIG;
        return -1;
    }
    struct sandlot_file_entry *entry = entries_add(entries, call->path, name->d_name, strlen(name->d_name));

    if (!entry) {
        errno = ENOMEM;
        return -1;
    }
    entry->is_symlink = S_ISLNK(status.st_mode);
    entry->is_dir = entry->is_symlink ? leads_to_directory(root_fd, entry->path) : S_ISDIR(status.st_mode);
    entry->bytes = (uint64_t)status.st_size;
    entry->modified_at_ms = milliseconds(status.st_mtim);
    return 0;
}

/* 0 or -1 with errno. */
static int add_all(const struct file_call *call, int root_fd, DIR *directory, struct entries *entries)
{
    for (size_t seen = 0;; seen++) {
        int stop = seen % LOOK_EVERY == 0 ? native_stop(call) : 0;

        errno = stop;
        const struct dirent *name = stop ? NULL : readdir(directory);

        if (!name)
            return errno ? -1 : 0;
        if (add(call, root_fd, dirfd(directory), name, entries) < 0)
            return -1;
    }
}

/* The directory at call->path could not be opened, for REASON. */
static int cannot_open(const struct file_call *call, int root_fd, int reason, struct sandlot_error *error)
{
    AUTO_CLOSE int fd = reason == ENOTDIR ? native_open(root_fd, call->path, O_PATH) : -1;

    return fd >= 0 ? file_error_kind(error, call) : native_failed(call, root_fd, reason, error);
}

int native_list(const struct file_call *call, struct entries *entries, struct sandlot_error *error)
{
    AUTO_ROOT struct native_root root = NATIVE_NO_ROOT;

    if (native_begin(call, &root, error) < 0)
        return -1;
    AUTO_CLOSE int fd = native_open(root.fd, call->path, O_RDONLY | O_DIRECTORY);

    if (fd < 0)
        return cannot_open(call, root.fd, errno, error);
    AUTO_DIRECTORY DIR *directory = fdopendir(fd);

    if (!directory)
        return native_failed(call, root.fd, errno, error);
    take_fd(&fd); /* the stream's */
    if (add_all(call, root.fd, directory, entries) == 0)
        return 0;
    if (errno == E2BIG)
        return error_set(error, SANDLOT_CODE_TOO_LARGE,
                         "Directory '%s' has more than %d entries, the most that are listed; look for what you need "
                         "with a pattern",
                         call->shown, MOST_ENTRIES);
    return native_failed(call, root.fd, errno, error);
}

#include "operations/native/open.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "operations/file_error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

enum {
    TRIES = 32,         /* when the kernel cannot resolve a path because folders move meanwhile */
    FOLDER_MODE = 0755, /* 0777 less the umask of a sandbox, whatever this process's is */
};

int native_begin(const struct file_call *call, struct native_root *root, struct sandlot_error *error)
{
    root->session = call->session;
    root->shared = session_root_take(call->session, call->deadline_ms, call->cancel_fd, error);
    if (!root->shared)
        return -1;
    root->fd = root->shared->fd;
    if (identity_assume(root->shared->uid, root->shared->gid, &root->identity) == 0)
        return 0;
    error_set(error, SANDLOT_CODE_INTERNAL_ERROR,
              "cannot act as the sandbox's user %u (%s); run Sandlot as root with all capabilities, or as an ordinary "
              "user",
              root->shared->uid, strerror(errno));
    native_end(root);
    return -1;
}

void native_end(struct native_root *root)
{
    identity_restore(&root->identity);
    if (root->shared)
        session_root_give_back(root->session, TAKE(root->shared));
    root->fd = -1;
}

int native_open(int root_fd, const char *path, int flags)
{
    struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC),
                           .mode = (flags & O_TMPFILE) == O_TMPFILE ? 0600 : 0,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    int fd = -1;

    if (!(flags & O_PATH))
        how.flags |= O_NOCTTY | O_NONBLOCK;
    for (int left = TRIES; left > 0; left--) {
        fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
            break;
    }
    return fd;
}

int native_open_parent(int root_fd, const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    char parent[PATH_MAX];
    size_t length = slash ? (size_t)(slash - path) : 0;

    *name = slash ? slash + 1 : path;
    if (!**name || strcmp(*name, ".") == 0 || strcmp(*name, "..") == 0) {
        errno = EISDIR;
        return -1;
    }
    if (length >= sizeof(parent)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(parent, path, length);
    parent[length] = '\0';
    return native_open(root_fd, length ? parent : "/", O_PATH | O_DIRECTORY);
}

/* Makes the directory NAME unless somebody has just done so, with the mode that this process's umask may keep from it.
 */
static int make_folder(int folder_fd, const char *name)
{
    if (mkdirat(folder_fd, name, FOLDER_MODE) < 0)
        return errno == EEXIST ? 0 : -1;
    AUTO_CLOSE int fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;

    if (fd >= 0 && fstat(fd, &status) == 0 && (status.st_mode & 0777) != FOLDER_MODE)
        return fchmod(fd, (status.st_mode & 07000) | FOLDER_MODE);
    return 0;
}

/* Makes what is missing of PATH, of which every prefix is opened anew: links on the way may lead anywhere. */
static int make_folders(int root_fd, char *path)
{
    AUTO_CLOSE int folder = native_open(root_fd, "/", O_PATH | O_DIRECTORY);
    char *at = path;

    while (folder >= 0 && at) {
        char *name = at + strspn(at, "/");
        char *slash = strchr(name, '/');

        if (slash)
            *slash = '\0';
        int next = native_open(root_fd, path, O_PATH | O_DIRECTORY);

        if (next < 0 && errno == ENOENT && make_folder(folder, name) == 0)
            next = native_open(root_fd, path, O_PATH | O_DIRECTORY);
        if (next < 0)
            return -1;
        close(folder);
        folder = next;
        if (slash)
            *slash = '/';
        at = slash;
    }
    return take_fd(&folder);
}

int native_make_folders(int root_fd, const char *path)
{
    int fd = native_open(root_fd, path, O_PATH | O_DIRECTORY);

    if (fd >= 0 || errno != ENOENT)
        return fd;
    AUTO_FREE char *own = strdup(path);

    return own ? make_folders(root_fd, own) : -1;
}

int native_stop(const struct file_call *call)
{
    struct pollfd cancel = {call->cancel_fd, POLLIN, 0};

    if (call->cancel_fd >= 0 && poll(&cancel, 1, 0) > 0)
        return ECANCELED;
    return call->deadline_ms && sandlot_now_ms() >= call->deadline_ms ? ETIMEDOUT : 0;
}

bool native_is_mount(const struct statx *status)
{
    return status->stx_attributes & status->stx_attributes_mask & STATX_ATTR_MOUNT_ROOT;
}

int native_status(int folder_fd, const char *name, struct statx *status)
{
    return statx(folder_fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (*name ? 0 : AT_EMPTY_PATH),
                 STATX_BASIC_STATS, status);
}

/* ---- errors ---- */

/* Nothing is at call->path: tells what is beside it. */
static int missing(const struct file_call *call, int root_fd, struct sandlot_error *error)
{
    const char *name = "";
    AUTO_CLOSE int parent = native_open_parent(root_fd, call->path, &name);
    AUTO_CLOSE int fd = parent >= 0 ? openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    AUTO_DIRECTORY DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    char *names[FILE_NEIGHBOURS + 1];
    size_t count = 0;

    if (directory)
        take_fd(&fd); /* the stream's */
    for (struct dirent *entry; directory && count <= FILE_NEIGHBOURS && (entry = readdir(directory));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        names[count] = strdup(entry->d_name);
        count += names[count] ? 1 : 0;
    }
    file_error_missing(error, call, (const char *const *)names, count <= FILE_NEIGHBOURS ? count : 0);
    while (count > 0)
        free(names[--count]);
    return -1;
}

int native_failed(const struct file_call *call, int root_fd, int reason, struct sandlot_error *error)
{
    if (reason == ENOENT && call->verb != FILE_WRITE && call->verb != FILE_UPLOAD)
        return missing(call, root_fd, error);
    /* A socket, or a pipe or device to which nobody listens. */
    if (reason == ENXIO || reason == ENODEV)
        return file_error_kind(error, call);
    return file_error_errno(error, call, reason);
}

int native_open_file(const struct file_call *call, int root_fd, struct stat *status, struct sandlot_error *error)
{
    AUTO_CLOSE int fd = native_open(root_fd, call->path, O_RDONLY);

    if (fd < 0 || fstat(fd, status) < 0)
        return native_failed(call, root_fd, errno, error);
    if (S_ISDIR(status->st_mode))
        return file_error_errno(error, call, EISDIR);
    if (!S_ISREG(status->st_mode))
        return file_error_kind(error, call);
    return take_fd(&fd);
}

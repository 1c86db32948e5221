#include "results/beneath.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TRIES = 32 }; /* when the kernel cannot resolve a path because folders move meanwhile */

bool beneath_by_parts;

static int open_part(int folder, const char *part, size_t length, int flags)
{
    char name[NAME_MAX + 1];

    if (length > NAME_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(name, part, length);
    name[length] = '\0';
    return openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC);
}

/* A link in the middle is no folder to openat(2): here it is ELOOP, as openat2(2) has it. */
static int explain(int folder, const char *part, size_t length)
{
    char target[1];
    int reason = errno;
    AUTO_CLOSE int link = reason == ENOTDIR ? open_part(folder, part, length, O_PATH) : -1;

    errno = link >= 0 && readlinkat(link, "", target, sizeof(target)) >= 0 ? ELOOP : reason;
    return -1;
}

static int open_by_parts(int folder_fd, const char *path, int flags)
{
    AUTO_CLOSE int folder = fcntl(folder_fd, F_DUPFD_CLOEXEC, 0);

    while (folder >= 0) {
        size_t length = strcspn(path, "/");
        bool last = path[length] == '\0';
        int next = open_part(folder, path, length, last ? flags : O_PATH | O_DIRECTORY);

        if (next < 0)
            return explain(folder, path, length);
        if (last)
            return next;
        close(folder);
        folder = next;
        path += length + 1;
    }
    return -1;
}

int beneath_open(int folder_fd, const char *path, int flags)
{
    struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC), .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    int own = flags & O_PATH ? 0 : O_NOCTTY | O_NONBLOCK;

    how.flags |= (uint64_t)own | (flags & O_DIRECTORY ? 0 : O_NOFOLLOW);
    for (int left = beneath_by_parts ? 0 : TRIES; left > 0; left--) {
        int fd = (int)syscall(SYS_openat2, folder_fd, path, &how, sizeof(how));

        if (fd >= 0 || (errno != EAGAIN && errno != EINTR && errno != ENOSYS && errno != EPERM))
            return fd;
        if (errno == ENOSYS || errno == EPERM)
            break;
    }
    return open_by_parts(folder_fd, path, flags | own);
}

int beneath_open_parent(int folder_fd, const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    char parent[PATH_MAX];
    size_t length = slash ? (size_t)(slash - path) : 1;

    *name = slash ? slash + 1 : path;
    if (length >= sizeof(parent)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(parent, slash ? path : ".", length);
    parent[length] = '\0';
    return beneath_open(folder_fd, parent, O_PATH | O_DIRECTORY);
}

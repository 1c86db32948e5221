#include "folder.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int folder_of(const char *path)
{
    char link[64];
    char real[PATH_MAX];
    struct stat status;
    AUTO_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &status) < 0)
        return -1;
    if (S_ISDIR(status.st_mode))
        return take_fd(&fd);
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, real, sizeof(real) - 1);

    if (length < 0)
        return -1;
    real[length] = '\0';
    char *name = strrchr(real, '/');

    if (!name)
        return -1;
    name[name == real] = '\0';
    return open(real, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static bool is_same(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

bool folder_lies_within(int inner_fd, int outer_fd)
{
    AUTO_CLOSE int fd = openat(inner_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat last = {0};
    struct stat outer;
    struct stat status;

    if (fstat(outer_fd, &outer) < 0)
        return false;
    while (fd >= 0 && fstat(fd, &status) == 0) {
        if (is_same(&status, &outer))
            return true;
        if (is_same(&status, &last))
            return false; /* the parent of "/" is "/" */
        last = status;
        int parent = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

        close(fd);
        fd = parent;
    }
    return false;
}

#include "base/path.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>

/* The home folder, to be freed. */
static char *home(void)
{
    const char *variable = getenv("HOME");

    if (variable && *variable == '/')
        return strdup(variable);
    struct passwd entry;
    struct passwd *found = NULL;
    char buffer[4096];

    if (getpwuid_r(geteuid(), &entry, buffer, sizeof(buffer), &found) == 0 && found && *found->pw_dir == '/')
        return strdup(found->pw_dir);
    return strdup("/");
}

static char *xdg(const char *variable, const char *below_home)
{
    const char *value = getenv(variable);

    if (value && *value == '/')
        return text_format("%s/sandlot", value);
    AUTO_FREE char *folder = home();

    return folder ? text_format("%s/%s/sandlot", strcmp(folder, "/") == 0 ? "" : folder, below_home) : NULL;
}

char *path_config_home(void)
{
    return xdg("XDG_CONFIG_HOME", ".config");
}

char *path_data_home(void)
{
    return xdg("XDG_DATA_HOME", ".local/share");
}

char *path_state_home(void)
{
    return xdg("XDG_STATE_HOME", ".local/state");
}

char *path_absolute(const char *path, const char *base)
{
    if (*path == '/')
        return strdup(path);
    if (path[0] == '~' && (path[1] == '/' || path[1] == '\0')) {
        AUTO_FREE char *folder = home();

        return folder ? text_format("%s%s", folder, path + 1) : NULL;
    }
    AUTO_FREE char *here = base ? strdup(base) : getcwd(NULL, 0);

    return here ? text_format("%s/%s", strcmp(here, "/") == 0 ? "" : here, path) : NULL;
}

char *path_parent(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return strdup(".");
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

int path_make_folders(const char *path, unsigned int mode)
{
    AUTO_FREE char *copy = strdup(path);

    if (!copy)
        return -1;
    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(copy, mode) < 0 && errno != EEXIST)
            return -1;
        *slash = '/';
    }
    return mkdir(copy, mode) < 0 && errno != EEXIST ? -1 : 0;
}

/* What is wrong with one file or folder on the way; NULL: nothing. */
static char *distrust_one(const char *path)
{
    struct stat status;

    if (lstat(path, &status) < 0)
        return text_format("%s: %s", path, strerror(errno));
    if (status.st_uid != 0 && status.st_uid != geteuid())
        return text_format("%s belongs to another user (uid %u)", path, (unsigned)status.st_uid);
    if (S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX))
        return NULL;
    if (status.st_mode & (S_IWGRP | S_IWOTH))
        return text_format("%s is writable by %s (mode %04o)", path,
                           status.st_mode & S_IWOTH ? "everybody" : "its group", (unsigned)status.st_mode & 07777);
    return NULL;
}

char *path_distrust(const char *path)
{
    AUTO_FREE char *real = realpath(path, NULL);

    if (!real)
        return text_format("%s: %s", path, strerror(errno));
    char *reason = distrust_one(real);

    for (char *slash; !reason && (slash = strrchr(real, '/'));) {
        *slash = '\0';
        reason = distrust_one(*real ? real : "/");
        if (!*real)
            break;
    }
    return reason;
}

char *path_read_file(const char *path, size_t maximum, size_t *length)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0)
        return NULL;
    if (!S_ISREG(status.st_mode)) {
        errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
        return NULL;
    }
    if (status.st_size > 0 && (uintmax_t)status.st_size > maximum) {
        errno = EFBIG;
        return NULL;
    }
    AUTO_FREE char *bytes = NULL;
    size_t capacity = 0;
    size_t used = 0;

    /* Read to the end instead of trusting st_size: the file may grow, and files of /proc have size 0. */
    for (;;) {
        if (used + 1 >= capacity) {
            capacity = capacity ? capacity * 2 : (size_t)status.st_size + 4096;
            char *grown = realloc(bytes, capacity);

            if (!grown)
                return NULL;
            bytes = grown;
        }
        ssize_t got = read(fd, bytes + used, capacity - used - 1);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return NULL;
        if (got == 0)
            break;
        used += (size_t)got;
        if (used > maximum) {
            errno = EFBIG;
            return NULL;
        }
    }
    bytes[used] = '\0';
    if (length)
        *length = used;
    return TAKE(bytes);
}

int path_write_all(int fd, const void *bytes, size_t length)
{
    const char *at = bytes;

    while (length) {
        ssize_t written = write(fd, at, length);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -1;
        at += written;
        length -= (size_t)written;
    }
    return 0;
}

int path_write_atomically(int folder_fd, const char *name, const void *bytes, size_t length, bool durable)
{
    AUTO_FREE char *temporary = text_format(".%s.%ld", name, (long)syscall(SYS_gettid));

    if (!temporary)
        return -1;
    AUTO_CLOSE int fd = openat(folder_fd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0)
        return -1;
    if (path_write_all(fd, bytes, length) == 0 && (!durable || fsync(fd) == 0) &&
        renameat(folder_fd, temporary, folder_fd, name) == 0)
        return durable ? fsync(folder_fd) : 0;
    int saved = errno;

    unlinkat(folder_fd, temporary, 0);
    errno = saved;
    return -1;
}

/* The kernel's own name of it, without links. */
static char *executable(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path));

    return length > 0 && (size_t)length < sizeof(path) ? strndup(path, (size_t)length) : NULL;
}

char *path_of_this_program(void)
{
    Dl_info info;
    AUTO_FREE char *file = NULL;

    /* For the statically linked command dladdr(3) gives argv[0], so the executable is asked for itself. */
    if (dladdr((void *)(uintptr_t)path_of_this_program, &info) && info.dli_fname && strstr(info.dli_fname, ".so"))
        file = realpath(info.dli_fname, NULL);
    else
        file = executable();
    return file ? path_parent(file) : NULL;
}

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

enum { MOST_LINKS = 40 }; /* as the kernel follows */

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

/* What is wrong with one file, folder or link on the way; NULL: nothing. A link has no mode that counts. */
static char *distrust_one(const char *path, const struct stat *status)
{
    if (status->st_uid != 0 && status->st_uid != geteuid())
        return text_format("%s belongs to another user (uid %u%s)", path, (unsigned)status->st_uid,
                           status->st_uid == 65534 ? ", as which a user namespace shows those that it lacks" : "");
    if (S_ISLNK(status->st_mode) || (S_ISDIR(status->st_mode) && (status->st_mode & S_ISVTX)))
        return NULL;
    if (status->st_mode & (S_IWGRP | S_IWOTH))
        return text_format("%s is writable by %s (mode %04o)", path,
                           status->st_mode & S_IWOTH ? "everybody" : "its group", (unsigned)status->st_mode & 07777);
    return NULL;
}

/* A way that is walked name by name, links followed where they stand. */
struct walk {
    char *reached; /* without links; "" is the root */
    char *rest;    /* what is still to be walked */
    int links;
};

static bool set_text(char **field, char *text)
{
    free(*field);
    *field = text;
    return text != NULL;
}

/* Goes on by the link at PATH. False: with errno. */
static bool follow_link(struct walk *walk, const char *path)
{
    char target[PATH_MAX];
    ssize_t length = readlink(path, target, sizeof(target));

    if (length < 0)
        return false;
    if (length == (ssize_t)sizeof(target) || ++walk->links > MOST_LINKS) {
        errno = ELOOP;
        return false;
    }
    if (*target == '/')
        *walk->reached = '\0';
    return set_text(&walk->rest, text_format("%.*s/%s", (int)length, target, walk->rest));
}

/* Walks one NAME on. False: *REASON, or errno, says why not. */
static bool step(struct walk *walk, const char *name, char **reason)
{
    struct stat status;

    if (strcmp(name, "..") == 0) {
        char *slash = strrchr(walk->reached, '/');

        if (slash)
            *slash = '\0';
        return true;
    }
    AUTO_FREE char *path = text_format("%s/%s", walk->reached, name);

    if (!path || lstat(path, &status) < 0)
        return false;
    *reason = distrust_one(path, &status);
    if (*reason)
        return false;
    return S_ISLNK(status.st_mode) ? follow_link(walk, path) : set_text(&walk->reached, TAKE(path));
}

/* The next name, to be freed; NULL at the end, or without memory. */
static char *next_name(struct walk *walk)
{
    size_t skipped = strspn(walk->rest, "/");
    size_t length = strcspn(walk->rest + skipped, "/");
    char *name = length ? strndup(walk->rest + skipped, length) : NULL;

    memmove(walk->rest, walk->rest + skipped + length, strlen(walk->rest + skipped + length) + 1);
    return name;
}

char *path_distrust(const char *path)
{
    AUTO_FREE char *absolute = path_absolute(path, NULL);
    struct walk walk = {.reached = strdup(""), .rest = absolute ? strdup(absolute) : NULL};
    struct stat status;
    char *reason = stat("/", &status) == 0 ? distrust_one("/", &status) : NULL;
    bool is_walked = walk.reached && walk.rest;

    for (char *name; is_walked && !reason && (name = next_name(&walk)); free(name))
        is_walked = strcmp(name, ".") == 0 || step(&walk, name, &reason);
    if (!is_walked && !reason)
        reason = text_format("%s: %s", path, strerror(errno));
    free(walk.reached);
    free(walk.rest);
    return reason;
}

int path_open_file(int folder_fd, const char *path, int flags)
{
    return openat(folder_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
}

char *path_read_file(const char *path, size_t maximum, size_t *length)
{
    AUTO_CLOSE int fd = path_open_file(AT_FDCWD, path, 0);

    return fd < 0 ? NULL : path_read_descriptor(fd, maximum, length);
}

const char *path_read_problem(int reason)
{
    return reason == EINVAL ? "it is not a regular file" : strerror(reason);
}

char *path_read_descriptor(int fd, size_t maximum, size_t *length)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
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

/* Gives the file TEMPORARY its NAME. One that takes another's place ext4 first writes to the disk, which is waited for:
 * where nothing has to last the two change places. */
static int put_in_place(int folder_fd, const char *temporary, const char *name, bool durable)
{
    if (!durable && renameat2(folder_fd, temporary, folder_fd, name, RENAME_EXCHANGE) == 0)
        return unlinkat(folder_fd, temporary, 0);
    return renameat(folder_fd, temporary, folder_fd, name);
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
        put_in_place(folder_fd, temporary, name, durable) == 0)
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

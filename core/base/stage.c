#include "base/stage.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define PREFIX "sandlot-stage-"

enum { TRIES = 8 };

static const char *temporary(void)
{
    const char *folder = getenv("TMPDIR");

    return folder && *folder == '/' ? folder : "/tmp";
}

/* Unlinks what lies in the folder FD. */
static void empty(int fd)
{
    AUTO_CLOSE int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_DIRECTORY DIR *folder = again >= 0 ? fdopendir(again) : NULL;
    const struct dirent *entry;

    if (folder)
        take_fd(&again);
    while (folder && (entry = readdir(folder)))
        unlinkat(fd, entry->d_name, 0);
}

/* Has the folder FD its name still? Whoever sweeps may come between mkdtemp and the lock. */
static bool is_there(int fd)
{
    struct stat status;

    return fstat(fd, &status) == 0 && status.st_nlink > 0;
}

static int try_to_begin(struct stage *stage)
{
    AUTO_FREE char *path = text_format("%s/" PREFIX "XXXXXX", temporary());

    if (!path || !mkdtemp(path))
        return -1;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || !is_there(fd)) {
        int reason = fd >= 0 && !is_there(fd) ? EAGAIN : errno;

        rmdir(path);
        errno = reason == ENOENT || reason == EWOULDBLOCK ? EAGAIN : reason;
        return -1;
    }
    *stage = (struct stage){TAKE(path), take_fd(&fd)};
    return 0;
}

int stage_begin(struct stage *stage)
{
    stage_sweep();
    for (int tries = 0; tries < TRIES; tries++)
        if (try_to_begin(stage) == 0)
            return 0;
        else if (errno != EAGAIN)
            break;
    return -1;
}

void stage_end(struct stage *stage)
{
    if (stage->path) {
        empty(stage->fd);
        rmdir(stage->path);
        close(stage->fd);
        free(stage->path);
    }
    *stage = NO_STAGE;
}

/* NAME in the folder PARENT, if it is ours and nobody has it. */
static void sweep_one(int parent, const char *name)
{
    struct stat status;
    AUTO_CLOSE int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &status) < 0 || status.st_uid != geteuid() || flock(fd, LOCK_EX | LOCK_NB) < 0)
        return;
    empty(fd);
    unlinkat(parent, name, AT_REMOVEDIR);
}

void stage_sweep(void)
{
    AUTO_DIRECTORY DIR *folder = opendir(temporary());
    const struct dirent *entry;

    while (folder && (entry = readdir(folder)))
        if (strncmp(entry->d_name, PREFIX, sizeof(PREFIX) - 1) == 0)
            sweep_one(dirfd(folder), entry->d_name);
}

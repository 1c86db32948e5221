#include "walk.h"

#include <sandlot/sdk/cleanup.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { LISTING = 4096, DEEPEST_MEASURED = 1024, DEEPEST_REMOVED = 64, SPARE_DESCRIPTORS = 32 };

/* An open folder and the part of its listing that was read. */
struct folder {
    int fd;
    int length;
    int at;
    _Alignas(struct dirent64) char listing[LISTING];
};

/* The name of the next entry but "." and ".."; NULL at the end. */
static const char *next_name(struct folder *folder)
{
    for (;;) {
        if (folder->at >= folder->length) {
            folder->length = (int)getdents64(folder->fd, folder->listing, sizeof(folder->listing));
            folder->at = 0;
            if (folder->length <= 0)
                return NULL;
        }
        struct dirent64 *entry = (struct dirent64 *)(void *)(folder->listing + folder->at);

        folder->at += entry->d_reclen;
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            return entry->d_name;
    }
}

/*
 * Opens the folder NAME for reading though its mode may forbid it even to its owner. The mode is changed through the
 * descriptor that was found, so that a link put in NAME's place meanwhile has no effect. KEEP_MODE: put back
 * afterwards. A thread may have descriptors of its own, hence thread-self.
 */
static int open_folder(int parent_fd, const char *name, bool keep_mode)
{
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 || errno != EACCES)
        return fd;
    AUTO_CLOSE int found = openat(parent_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    char path[64];
    struct stat status;

    if (found < 0 || fstat(found, &status) < 0)
        return -1;
    snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", found);
    if (chmod(path, 0700) < 0)
        return -1;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (keep_mode)
        chmod(path, status.st_mode & 07777);
    return fd;
}

bool walk_is_empty(int folder_fd, const char *name)
{
    AUTO_CLOSE int fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct folder folder = {.fd = fd};

    return fd >= 0 && !next_name(&folder) && folder.length == 0;
}

static bool reached(const struct usage *usage, const struct usage *limit)
{
    return usage->bytes > limit->bytes || usage->entries > limit->entries;
}

/* LEFT: how much deeper it may go. */
static void measure(int folder_fd, const char *name, const struct usage *limit, struct usage *usage, int left)
{
    AUTO_CLOSE int fd = open_folder(folder_fd, name, true);

    if (left == 0 || (fd < 0 && errno == EMFILE)) {
        usage->entries = WALK_TOO_DEEP;
        return;
    }
    if (fd < 0)
        return;
    struct folder folder = {.fd = fd};

    for (const char *entry; !reached(usage, limit) && (entry = next_name(&folder));) {
        struct stat status;

        if (fstatat(fd, entry, &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        usage->entries++;
        if (S_ISDIR(status.st_mode)) {
            usage->bytes += (uint64_t)status.st_blocks * 512;
            measure(fd, entry, limit, usage, left - 1);
        } else {
            usage->bytes += (uint64_t)status.st_blocks * 512 / (status.st_nlink ? status.st_nlink : 1);
        }
    }
}

void walk_measure(int folder_fd, const char *name, const struct usage *limit, struct usage *usage)
{
    struct rlimit descriptors;
    int deepest = DEEPEST_MEASURED;

    /* Each level takes a descriptor. */
    if (getrlimit(RLIMIT_NOFILE, &descriptors) == 0 && descriptors.rlim_cur < DEEPEST_MEASURED + SPARE_DESCRIPTORS)
        deepest = descriptors.rlim_cur > SPARE_DESCRIPTORS ? (int)descriptors.rlim_cur - SPARE_DESCRIPTORS : 0;
    measure(folder_fd, name, limit, usage, deepest);
}

/* Moves a folder that lies too deep to the top of the trash, where it is removed in a later round. */
static void lift(int folder_fd, const char *name, int trash_fd, unsigned *counter)
{
    char lifted[32];

    snprintf(lifted, sizeof(lifted), "deep-%u", (*counter)++);
    renameat(folder_fd, name, trash_fd, lifted);
}

static void empty(int fd, int trash_fd, unsigned *counter, int depth)
{
    struct folder folder = {.fd = fd};

    for (const char *entry; (entry = next_name(&folder));) {
        if (unlinkat(fd, entry, 0) == 0 || (errno != EISDIR && errno != EPERM))
            continue;
        if (unlinkat(fd, entry, AT_REMOVEDIR) == 0)
            continue;
        AUTO_CLOSE int inner = open_folder(fd, entry, false);

        if (inner < 0)
            continue;
        fchmod(inner, 0700);
        if (depth == DEEPEST_REMOVED) {
            lift(fd, entry, trash_fd, counter);
            continue;
        }
        empty(inner, trash_fd, counter, depth + 1);
        unlinkat(fd, entry, AT_REMOVEDIR);
    }
}

static bool is_empty(int fd)
{
    struct folder folder = {.fd = fd};

    lseek(fd, 0, SEEK_SET);
    return !next_name(&folder);
}

bool walk_empty(int trash_fd)
{
    unsigned counter = 0;

    /* Each round takes DEEPEST_REMOVED levels off. Some file systems skip entries of a listing while others are
     * removed, so a round without progress in depth is tried again. */
    for (int idle_rounds = 0; idle_rounds < 3;) {
        unsigned before = counter;

        lseek(trash_fd, 0, SEEK_SET);
        empty(trash_fd, trash_fd, &counter, 0);
        if (is_empty(trash_fd))
            return true;
        if (counter == before)
            idle_rounds++;
    }
    return false;
}

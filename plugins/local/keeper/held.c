#include "held.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

enum {
    PLACES = 4096,
    MOST_SEEN = PLACES / 2,
    /* What the kernel keeps for each, about. */
    MAPPING_BYTES = 384,
    QUEUE_BYTES = 4096, /* a socket, or one end of a pipe */
    DESCRIPTOR_BYTES = 512
};

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

/* The files that were counted, so that each is counted once: an open hash table. */
static struct seen {
    uint64_t inode;
    uint64_t bytes;
    bool memory;
    bool exact; /* no guess of what it has is needed any more */
} seen[PLACES];
static size_t seen_count;

struct holding {
    dev_t box_memory;
    dev_t memory; /* the device of all memory files and shared memory of this machine */
    struct held *held;
};

/* The place of a file in the table, which may be empty. */
static struct seen *find(uint64_t inode, bool memory)
{
    size_t place = (size_t)(inode * UINT64_C(0x9e3779b97f4a7c15) >> 40) % PLACES;

    while (seen[place].inode && (seen[place].inode != inode || seen[place].memory != memory))
        place = (place + 1) % PLACES;
    return &seen[place];
}

/* Counts the file INODE of DEVICE with BYTES, or with what these are more than at the first time. */
static void count(const struct holding *holding, dev_t device, uint64_t inode, uint64_t bytes, bool exact)
{
    const bool memory = device == holding->memory;
    uint64_t *sum = memory ? &holding->held->memory_bytes : &holding->held->disk_bytes;
    struct seen *file = find(inode, memory);
    const uint64_t before = file->bytes;

    if (file->exact || bytes < before)
        return;
    *sum += bytes - before;
    /* More files than there is room for are counted each time. */
    if (!file->inode && seen_count == MOST_SEEN)
        return;
    seen_count += !file->inode;
    *file = (struct seen){inode, bytes, memory, exact};
}

/* What a descriptor keeps. One that several processes have counts for each: that is little, and spares a table. */
static void count_file(const struct holding *holding, const struct stat *status)
{
    if (S_ISREG(status->st_mode) && status->st_nlink == 0 && status->st_dev != holding->box_memory)
        count(holding, status->st_dev, status->st_ino, (uint64_t)status->st_blocks * 512, true);
    holding->held->memory_bytes +=
        S_ISSOCK(status->st_mode) || S_ISFIFO(status->st_mode) ? QUEUE_BYTES : DESCRIPTOR_BYTES;
}

/* ---- descriptors ---- */

/*
 * The descriptors of a process that has closed itself to its user, one by one: for the keeper, who made the user
 * namespace that it lives in, that is no obstacle.
 */
static void count_closed(const struct holding *holding, pid_t thread)
{
    char path[64];
    char text[4096];
    struct stat status;

    snprintf(path, sizeof(path), "/proc/%d/status", thread);
    proc_read(path, text, sizeof(text));
    const uint64_t size = proc_value(text, "\nFDSize:");
    AUTO_CLOSE int pidfd = (int)syscall(SYS_pidfd_open, thread, PIDFD_THREAD);

    /* Before Linux 6.9 only the first thread of a process can be opened. */
    if (pidfd < 0 && errno == EINVAL)
        pidfd = (int)syscall(SYS_pidfd_open, thread, 0);
    for (uint64_t number = 0; pidfd >= 0 && number < size; number++) {
        AUTO_CLOSE int fd = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);

        if (fd < 0 && errno == EPERM)
            return;
        if (fd >= 0 && fstat(fd, &status) == 0)
            count_file(holding, &status);
    }
}

static void count_descriptors(const struct holding *holding, pid_t thread)
{
    char path[64];
    struct stat status;

    snprintf(path, sizeof(path), "/proc/%d/fd", thread);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct numbers numbers = {.fd = fd};

    if (fd < 0 && errno == EACCES)
        count_closed(holding, thread);
    for (long number; fd >= 0 && (number = numbers_next(&numbers)) >= 0;) {
        snprintf(path, sizeof(path), "%ld", number);
        if (fstatat(fd, path, &status, 0) == 0)
            count_file(holding, &status);
    }
}

/* Those of all threads, each of which may have a table of its own. */
static void count_process(const struct holding *holding, pid_t pid)
{
    char path[64];
    pid_t last = -1;

    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct numbers threads = {.fd = fd};

    for (long thread; fd >= 0 && (thread = numbers_next(&threads)) >= 0;) {
        if (last < 0 || syscall(SYS_kcmp, last, (pid_t)thread, KCMP_FILES, 0, 0) != 0)
            count_descriptors(holding, (pid_t)thread);
        last = (pid_t)thread;
    }
}

/* ---- maps ---- */

/* One line of "maps": what is mapped of a removed file. */
static void count_mapping(const struct holding *holding, pid_t pid, const char *line)
{
    unsigned long start;
    unsigned long end;
    unsigned long offset;
    unsigned long inode;
    unsigned major;
    unsigned minor;
    char path[96];
    struct stat status;

    if (sscanf(line, "%lx-%lx %*s %lx %x:%x %lu", &start, &end, &offset, &major, &minor, &inode) != 6 || !inode)
        return;
    const dev_t device = makedev(major, minor);

    /* System V segments are counted where they are listed, attached or not. */
    if (device == holding->box_memory || (device == holding->memory && strstr(line, " /SYSV")))
        return;
    snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", pid, start, end);
    if (stat(path, &status) == 0)
        count(holding, device, inode, (uint64_t)status.st_blocks * 512, true);
    else
        count(holding, device, inode, offset + end - start, false);
}

static void count_maps(const struct holding *holding, pid_t pid)
{
    static const char removed[] = " (deleted)";
    static struct lines lines;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

    lines.fd = fd;
    lines.at = lines.end = 0;
    for (const char *line; fd >= 0 && (line = lines_next(&lines));) {
        const size_t length = strlen(line);

        holding->held->memory_bytes += MAPPING_BYTES;
        if (length >= sizeof(removed) && strcmp(line + length - sizeof(removed) + 1, removed) == 0)
            count_mapping(holding, pid, line);
    }
}

/* The device on which the kernel keeps what is shared in memory, as one of its files says. */
static dev_t memory_device(void)
{
    static dev_t device;
    struct stat status;

    if (device)
        return device;
    AUTO_CLOSE int fd = memfd_create("probe", MFD_CLOEXEC);

    if (fd >= 0 && fstat(fd, &status) == 0)
        device = status.st_dev;
    return device;
}

void held_measure(const struct members *members, dev_t box_memory, struct held *held)
{
    const struct holding holding = {box_memory, memory_device(), held};

    *held = (struct held){0, 0};
    if (seen_count)
        memset(seen, 0, sizeof(seen));
    seen_count = 0;
    /* What a descriptor tells is exact, so it comes first; a mapping adds only what is more. */
    for (size_t i = 0; i < members->count; i++)
        count_process(&holding, members->pids[i]);
    for (size_t i = 0; i < members->count; i++)
        count_maps(&holding, members->pids[i]);
}

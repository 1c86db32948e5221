#include "proc.h"

#include <sandlot/sdk/cleanup.h>

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

long numbers_next(struct numbers *numbers)
{
    for (;;) {
        if (numbers->at >= numbers->length) {
            numbers->length = getdents64(numbers->fd, numbers->listing, sizeof(numbers->listing));
            numbers->at = 0;
            if (numbers->length <= 0)
                return -1;
        }
        const struct dirent64 *entry = (struct dirent64 *)(void *)(numbers->listing + numbers->at);

        numbers->at += entry->d_reclen;
        if (isdigit((unsigned char)entry->d_name[0]))
            return strtol(entry->d_name, NULL, 10);
    }
}

char *lines_next(struct lines *lines)
{
    for (;;) {
        char *line = lines->text + lines->at;
        char *end = memchr(line, '\n', lines->end - lines->at);

        if (end) {
            *end = '\0';
            lines->at = (size_t)(end - lines->text) + 1;
            return line;
        }
        lines->end -= lines->at;
        memmove(lines->text, line, lines->end);
        lines->at = 0;
        const ssize_t got = read(lines->fd, lines->text + lines->end, sizeof(lines->text) - lines->end);

        if (got <= 0)
            return NULL;
        lines->end += (size_t)got;
    }
}

void proc_read(const char *path, char *text, size_t size)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, size - 1) : 0;

    text[got > 0 ? got : 0] = '\0';
}

uint64_t proc_value(const char *text, const char *name)
{
    const char *line = strstr(text, name);

    return line ? strtoull(line + strlen(name), NULL, 10) : 0;
}

struct proc_status proc_status(pid_t pid)
{
    char path[64];
    char text[1024];

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    proc_read(path, text, sizeof(text));
    const char *at = strrchr(text, ')'); /* the name of a program may hold blanks and brackets */
    struct proc_status status = {.state = at && at[1] ? at[2] : '\0'};

    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    status.start_time = at ? strtoll(at, NULL, 10) : 0;
    return status;
}

/* Adds the children that the thread THREAD of process PID has. */
static void add_children(struct members *members, pid_t pid, long thread)
{
    char path[64];
    char text[4096];
    size_t kept = 0;

    snprintf(path, sizeof(path), "/proc/%d/task/%ld/children", pid, thread);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

    /* Each number ends with a blank; what comes after the last blank is the beginning of one. */
    for (ssize_t got; fd >= 0 && (got = read(fd, text + kept, sizeof(text) - 1 - kept)) > 0;) {
        char *at = text;

        text[kept + (size_t)got] = '\0';
        for (char *blank; (blank = strchr(at, ' ')); at = blank + 1)
            if (members->count < MOST_MEMBERS)
                members->pids[members->count++] = (pid_t)strtol(at, NULL, 10);
        kept = strlen(at);
        memmove(text, at, kept);
    }
}

void members_find(struct members *members, pid_t init)
{
    char path[64];

    members->count = 1;
    members->pids[0] = init;
    for (size_t i = 0; i < members->count; i++) {
        snprintf(path, sizeof(path), "/proc/%d/task", members->pids[i]);
        AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct numbers threads = {.fd = fd};

        for (long thread; fd >= 0 && (thread = numbers_next(&threads)) >= 0;)
            add_children(members, members->pids[i], thread);
    }
}

bool proc_is_childless(pid_t pid)
{
    char path[64];
    char first;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

    return fd >= 0 && read(fd, &first, 1) == 0;
}

/* A process whose first thread has ended shows its memory in the others only. */
uint64_t member_memory(pid_t pid)
{
    char path[64];
    char text[4096];
    uint64_t memory = 0;

    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct numbers threads = {.fd = fd};

    for (long thread; fd >= 0 && !memory && (thread = numbers_next(&threads)) >= 0;) {
        snprintf(path, sizeof(path), "/proc/%d/task/%ld/status", pid, thread);
        proc_read(path, text, sizeof(text));
        memory = proc_value(text, "\nRssAnon:") + proc_value(text, "\nVmPTE:") + proc_value(text, "\nVmSwap:");
    }
    return memory << 10;
}

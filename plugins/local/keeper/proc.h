/*
 * What /proc tells of the processes of a box. Nothing here allocates memory, for the reason that walk.h gives, and one
 * thread at a time may use it.
 */
#ifndef SANDLOT_LOCAL_PROC_H
#define SANDLOT_LOCAL_PROC_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { MOST_MEMBERS = 8192 };

/* A box's init and all below it. */
struct members {
    pid_t pids[MOST_MEMBERS];
    size_t count;
};

void members_find(struct members *members, pid_t init);

/* Has process PID, of one thread, no child? One look, for those who ask of many boxes; false also where it cannot be
 * told. What runs in a box has a supervisor as long as it runs, which is a child of init. */
bool proc_is_childless(pid_t pid);

/* Bytes of memory that process PID has for itself, with its page tables and what of it is swapped out. */
uint64_t member_memory(pid_t pid);

/* The entries of a folder that are numbers. */
struct numbers {
    int fd; /* the caller's */
    ssize_t length;
    ssize_t at;
    _Alignas(struct dirent64) char listing[2048];
};

/* The next one, -1 at the end. */
long numbers_next(struct numbers *numbers);

/* A text of any length, line by line. */
struct lines {
    int fd; /* the caller's */
    size_t at;
    size_t end;
    char text[32 * 1024]; /* no line is longer */
};

/* The next line without its end, which lives until the next call; NULL when there is none. */
char *lines_next(struct lines *lines);

/* What the kernel says of process PID. */
struct proc_status {
    char state;         /* its letter; NUL: there is no such process */
    int64_t start_time; /* in the kernel's ticks: with the number it names a process for good; 0: there is none */
};

struct proc_status proc_status(pid_t pid);

/* Reads a small file as text; "" if it is gone. */
void proc_read(const char *path, char *text, size_t size);

/* The number after NAME in TEXT, 0 if it is not there. */
uint64_t proc_value(const char *text, const char *name);

#endif

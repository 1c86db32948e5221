/*
 * The attacks that attack_test.sh runs inside a box. Each tries one thing and says whether a wall held.
 *
 * None of them does lasting harm where no wall stands: they open without writing, call with arguments that the
 * kernel refuses later, or touch only what bait.c has planted. So they may be run on a bare machine too,
 * which is the proof that each of them can find something (`attack try` outside a box).
 */
#ifndef ATTACK_H
#define ATTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum verdict { HELD = 0, THROUGH = 1 };

enum attack_flag {
    NEEDS_NAMESPACES = 1 /* cannot hold in the reduced mode, confinement=landlock */
};

struct attack {
    const char *name;
    enum verdict (*run)(const struct attack *attack);
    unsigned flags;
    long number; /* of a system call, for those attacks that are one */
    long arguments[6];
};

struct attack_group {
    const char *name;
    const struct attack *attacks; /* ended by one without a name */
};

extern const struct attack read_attacks[];
extern const struct attack write_attacks[];
extern const struct attack process_attacks[];
extern const struct attack network_attacks[];
extern const struct attack call_attacks[];
extern const struct attack kernel_attacks[];

/* Says what got through. Returns THROUGH. */
enum verdict through(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What bait.c planted under KEY; "" if there is no such thing. */
const char *bait(const char *key);
long bait_number(const char *key);

/* The secret text that is in every bait. */
const char *marker(void);

/* How many descriptors above 2 were open when the program started. */
int inherited_descriptors(void);

/* The first BYTES of a file relative to FOLDER_FD, without waiting. The length, or -1. */
ssize_t read_start(int folder_fd, const char *path, char *buffer, size_t bytes);

bool holds_marker(const char *bytes, size_t length);
bool file_holds_marker(int folder_fd, const char *path);

/* Is PATH the very folder or file that the host has under this path? */
bool is_the_hosts(const char *path);

/* Calls EACH with the name of every process in /proc, "self" included, until it returns THROUGH. */
enum verdict each_process(enum verdict (*each)(const char *process));

/* Uses up what there is of something, or stays behind: `attack load KIND [ARGUMENT...]`. The exit status. */
int load(int count, char **arguments);

#endif

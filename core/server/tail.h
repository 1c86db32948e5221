/* The last line that a command has printed, for the line of progress that its caller sees. */
#ifndef SANDLOT_SERVER_TAIL_H
#define SANDLOT_SERVER_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TAIL_KEPT = 4096, TAIL_LINE_CHARACTERS = 200 };

/* Zero at the beginning. */
struct tail {
    char bytes[TAIL_KEPT];
    size_t length;
    uint64_t total;
};

void tail_add(struct tail *tail, const void *bytes, size_t length);

/* The last line that is not empty: secrets, escape sequences and control characters removed, at most 200 characters. To
 * be freed; NULL if there is none. *LENGTH without the NUL. */
char *tail_line(const struct tail *tail, size_t *length);

#endif

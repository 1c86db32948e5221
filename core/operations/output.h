/*
 * Output that is kept up to a limit: all of it while it fits, then its head and its tail around a line that says how
 * much was left out. Memory never exceeds the limit while a command prints, and twice the limit when it is taken.
 */
#ifndef SANDLOT_OPERATIONS_OUTPUT_H
#define SANDLOT_OPERATIONS_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output {
    char *bytes; /* the first LIMIT bytes; once there are more, its second half is a ring of the latest */
    size_t capacity;
    size_t limit;
    uint64_t total; /* bytes that came */
};

void output_init(struct output *output, uint64_t limit);
void output_clear(struct output *output);

/* Takes LENGTH bytes; false when out of memory. */
bool output_add(struct output *output, const void *bytes, size_t length);

/* The text with NUL after it, to be freed; NULL when out of memory. *TRUNCATED: something was left out. */
char *output_take(struct output *output, size_t *length, bool *truncated);

#endif

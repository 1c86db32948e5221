/* What a command of the user's own prints. */
#ifndef SANDLOT_NETWORK_OUTPUT_OF_H
#define SANDLOT_NETWORK_OUTPUT_OF_H

#include <stddef.h>

/*
 * Runs COMMAND with sh, without input, and returns what it printed on standard output, with a NUL behind *LENGTH bytes,
 * to be freed. Standard error goes nowhere: it may hold a secret. NULL: *WHY says what went wrong ("failed", "took
 * longer than 10 seconds"), and all that it started has been ended with its process group.
 */
char *output_of(const char *command, int timeout_ms, size_t maximum, int cancel_fd, size_t *length, const char **why);

#endif

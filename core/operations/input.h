/* What a command gets: variables, and bytes from a descriptor of the caller, as a source of the ABI. */
#ifndef SANDLOT_OPERATIONS_INPUT_H
#define SANDLOT_OPERATIONS_INPUT_H

#include <sandlot/provider.h>
#include <sandlot/sandlot.h>

struct input {
    struct sandlot_source source;
    int fd;
    int cancel_fd;
    int64_t deadline_ms;
    int problem; /* why a read failed, as errno tells; 0: none has */
};

/* INPUT must stay where it is while its source is used. A read ends when CANCEL_FD (-1: none) becomes readable, and
 * by DEADLINE_MS (0: none). */
void input_init(struct input *input, int fd, int64_t deadline_ms, int cancel_fd);

/* Says why, if what INPUT reads from has failed: then it, not the provider, has ended what read from it. 0 or -1. */
int input_error(const struct input *input, struct sandlot_error *error);

/* Are these variables that every shell knows? ENVIRONMENT: "NAME=value", ended by NULL; or NULL. */
int check_variables(const char *const *environment, struct sandlot_error *error);

#endif

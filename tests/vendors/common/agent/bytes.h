/* A queue of bytes that grows. */
#ifndef AGENT_BYTES_H
#define AGENT_BYTES_H

#include <stddef.h>

struct bytes {
    char *data;
    size_t length, room;
};

void bytes_add(struct bytes *bytes, const void *more, size_t length);
/* The first LENGTH of them have been used. */
void bytes_drop(struct bytes *bytes, size_t length);
void bytes_free(struct bytes *bytes);

/* Zeroed memory; the agent ends where there is none. */
void *claim(size_t size);

#endif

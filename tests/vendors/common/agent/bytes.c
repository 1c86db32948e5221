#include "bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *have(void *memory)
{
    if (memory)
        return memory;
    fputs("agent: no memory\n", stderr);
    exit(EXIT_FAILURE);
}

void *claim(size_t size)
{
    return have(calloc(1, size));
}

void bytes_add(struct bytes *bytes, const void *more, size_t length)
{
    if (length == 0)
        return;
    if (bytes->room - bytes->length < length) {
        bytes->room = (bytes->length + length) * 2;
        bytes->data = have(realloc(bytes->data, bytes->room));
    }
    memcpy(bytes->data + bytes->length, more, length);
    bytes->length += length;
}

void bytes_drop(struct bytes *bytes, size_t length)
{
    bytes->length -= length;
    if (bytes->length > 0)
        memmove(bytes->data, bytes->data + length, bytes->length);
}

void bytes_free(struct bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct bytes){0};
}

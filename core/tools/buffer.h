/* A text that grows. */
#ifndef SANDLOT_TOOLS_BUFFER_H
#define SANDLOT_TOOLS_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

/* Zero is empty. What is added once there was no memory is dropped: it suffices to look when all is done. */
struct buffer {
    char *bytes; /* with a NUL after them, or NULL */
    size_t length;
    size_t capacity;
    bool no_memory;
};

/* False when out of memory, now or before. */
bool buffer_add(struct buffer *buffer, const void *bytes, size_t length);
bool buffer_add_text(struct buffer *buffer, const char *text);
bool buffer_format(struct buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The bytes, to be freed, and NULL when there was no memory; the buffer is then empty. LENGTH may be NULL. */
char *buffer_take(struct buffer *buffer, size_t *length);
void buffer_clear(struct buffer *buffer);

#endif

#include "tools/buffer.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 256 };

static bool reserve(struct buffer *buffer, size_t more)
{
    if (buffer->no_memory || more >= SIZE_MAX / 4 - buffer->length) {
        buffer->no_memory = true;
        return false;
    }
    size_t needed = buffer->length + more + 1;

    if (needed <= buffer->capacity)
        return true;
    size_t capacity = buffer->capacity * 2 > needed ? buffer->capacity * 2 : needed;

    capacity = capacity < FIRST_CAPACITY ? FIRST_CAPACITY : capacity;
    char *bytes = realloc(buffer->bytes, capacity);

    if (!bytes) {
        buffer->no_memory = true;
        return false;
    }
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return true;
}

bool buffer_add(struct buffer *buffer, const void *bytes, size_t length)
{
    if (!reserve(buffer, length))
        return false;
    if (length > 0)
        memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
    buffer->bytes[buffer->length] = '\0';
    return true;
}

bool buffer_add_text(struct buffer *buffer, const char *text)
{
    return buffer_add(buffer, text, strlen(text));
}

bool buffer_format(struct buffer *buffer, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    AUTO_FREE char *text = text_format_v(format, arguments);
    va_end(arguments);
    if (!text) {
        buffer->no_memory = true;
        return false;
    }
    return buffer_add_text(buffer, text);
}

char *buffer_take(struct buffer *buffer, size_t *length)
{
    buffer_add(buffer, "", 0); /* an empty text is a text too */
    char *bytes = buffer->no_memory ? NULL : TAKE(buffer->bytes);

    if (length)
        *length = bytes ? buffer->length : 0;
    buffer_clear(buffer);
    return bytes;
}

void buffer_clear(struct buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct buffer){0};
}

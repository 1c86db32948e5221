#include "text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 1024 };

enum sdk_growth sdk_buffer_add(struct sdk_buffer *buffer, const void *bytes, size_t length)
{
    if (length > buffer->limit - buffer->length)
        return SDK_TOO_LONG;
    size_t needed = buffer->length + length + 1;

    if (needed > buffer->capacity) {
        size_t capacity = buffer->capacity ? buffer->capacity : FIRST_CAPACITY;

        while (capacity < needed)
            capacity = capacity > SIZE_MAX / 2 ? needed : capacity * 2;
        char *grown = realloc(buffer->bytes, capacity);

        if (!grown)
            return SDK_NO_MEMORY;
        buffer->bytes = grown;
        buffer->capacity = capacity;
    }
    if (length > 0)
        memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
    buffer->bytes[buffer->length] = '\0';
    return SDK_GROWN;
}

void sdk_buffer_clear(struct sdk_buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct sdk_buffer){.limit = buffer->limit};
}

char *sdk_buffer_take(struct sdk_buffer *buffer)
{
    char *bytes = buffer->bytes ? buffer->bytes : strdup("");

    *buffer = (struct sdk_buffer){.limit = buffer->limit};
    return bytes;
}

char *sdk_text_end(FILE *stream, char **text, bool whole)
{
    if (stream && fclose(stream) == 0 && whole)
        return *text;
    free(*text);
    *text = NULL;
    return NULL;
}

char *sdk_format(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;

    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);

    va_end(arguments);
    return length < 0 ? NULL : text;
}

/* The length of the character that begins at TEXT, 0 if none of UTF-8 does. */
static size_t character(const unsigned char *text, size_t length)
{
    static const struct {
        unsigned char mask, lead, size;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 1, 0}, {0xe0, 0xc0, 2, 0x80}, {0xf0, 0xe0, 3, 0x800}, {0xf8, 0xf0, 4, 0x10000}};

    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        if ((text[0] & forms[i].mask) != forms[i].lead)
            continue;
        if (forms[i].size > length)
            return 0;
        uint32_t point = text[0] & (unsigned char)~forms[i].mask;

        for (size_t k = 1; k < forms[i].size; k++) {
            if ((text[k] & 0xc0) != 0x80)
                return 0;
            point = point << 6 | (text[k] & 0x3f);
        }
        bool surrogate = point >= 0xd800 && point <= 0xdfff;

        return point < forms[i].least || point > 0x10ffff || surrogate ? 0 : forms[i].size;
    }
    return 0;
}

bool sdk_utf8_valid(const char *text, size_t length)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t size;

    for (size_t i = 0; i < length; i += size)
        if ((size = character(at + i, length - i)) == 0)
            return false;
    return true;
}

/* Is the character a C0 or C1 control character, DEL, or a line or paragraph separator? */
static bool is_control(const unsigned char *text, size_t size)
{
    if (size == 1)
        return text[0] < 0x20 || text[0] == 0x7f;
    if (size == 2)
        return text[0] == 0xc2 && text[1] < 0xa0;
    return size == 3 && text[0] == 0xe2 && text[1] == 0x80 && (text[2] == 0xa8 || text[2] == 0xa9);
}

void sdk_one_line(char *line, size_t capacity, const char *text, size_t length)
{
    static const char dots[] = "...";
    size_t used = 0;
    size_t uncut = 0; /* where the dots can go */
    size_t size;

    for (size_t i = 0; i < length; i += size) {
        const unsigned char *at = (const unsigned char *)text + i;
        const char *put = text + i;

        size = character(at, length - i);
        size_t put_size = size;

        if (size == 0 || is_control(at, size) || *at == ' ') {
            put = size == 0 ? "?" : " ";
            put_size = 1;
            size = size ? size : 1;
        }
        if (*put == ' ' && (used == 0 || line[used - 1] == ' '))
            continue;
        if (used + put_size >= capacity) {
            memcpy(line + uncut, dots, sizeof(dots));
            return;
        }
        memcpy(line + used, put, put_size);
        used += put_size;
        if (used + sizeof(dots) <= capacity)
            uncut = used;
    }
    while (used > 0 && line[used - 1] == ' ')
        used--;
    line[used] = '\0';
}

char *sdk_percent_encode(const char *text)
{
    static const char digits[] = "0123456789ABCDEF";
    char *encoded = malloc(strlen(text) * 3 + 1);
    char *out = encoded;

    if (!encoded)
        return NULL;
    for (const unsigned char *in = (const unsigned char *)text; *in; in++) {
        if (*in < 0x80 && (isalnum(*in) || strchr("-._~", *in))) {
            *out++ = (char)*in;
            continue;
        }
        *out++ = '%';
        *out++ = digits[*in >> 4];
        *out++ = digits[*in & 15];
    }
    *out = '\0';
    return encoded;
}

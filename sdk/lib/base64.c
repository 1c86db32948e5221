#include <sandlot/sdk/base64.h>

#include <stdint.h>
#include <string.h>

enum { LINE_BYTES = 57, LINE_LENGTH = LINE_BYTES / 3 * 4 };

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t base64_write(char *text, const void *bytes, size_t length)
{
    const unsigned char *from = bytes;
    char *to = text;

    for (size_t at = 0; at < length; at += 3) {
        size_t left = length - at;
        unsigned int group = (unsigned int)from[at] << 16 | (left > 1 ? (unsigned int)from[at + 1] << 8 : 0) |
                             (left > 2 ? (unsigned int)from[at + 2] : 0);

        *to++ = letters[group >> 18];
        *to++ = letters[group >> 12 & 63];
        *to++ = left > 1 ? letters[group >> 6 & 63] : '=';
        *to++ = left > 2 ? letters[group & 63] : '=';
    }
    return (size_t)(to - text);
}

/* What CHARACTER stands for; 64: nothing. */
static unsigned int value_of(char character)
{
    const char *found = character ? strchr(letters, character) : NULL;

    if (found)
        return (unsigned int)(found - letters);
    return character == '-' ? 62 : character == '_' ? 63 : 64;
}

size_t base64_read(void *bytes, const char *text, size_t length)
{
    unsigned char *to = bytes;
    unsigned int group = 0;

    for (int i = 0; i < 2 && length > 0 && length % 4 == (i == 0 ? 0U : 3U) && text[length - 1] == '='; i++)
        length--;
    if (length % 4 == 1)
        return SIZE_MAX;
    for (size_t i = 0; i < length; i++) {
        unsigned int value = value_of(text[i]);

        if (value > 63)
            return SIZE_MAX;
        group = group << 6 | value;
        if (i % 4 != 0)
            *to++ = (unsigned char)(group >> (6 - 2 * (i % 4)));
    }
    return (size_t)(to - (unsigned char *)bytes);
}

void base64_print(FILE *stream, const void *bytes, size_t length)
{
    char line[LINE_LENGTH + 1];

    for (size_t at = 0; at < length; at += LINE_BYTES) {
        size_t part = length - at < LINE_BYTES ? length - at : LINE_BYTES;
        size_t written = base64_write(line, (const char *)bytes + at, part);

        line[written] = '\n';
        fwrite(line, 1, written + 1, stream);
    }
}

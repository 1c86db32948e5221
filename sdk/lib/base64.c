#include <sandlot/sdk/base64.h>

enum { LINE_BYTES = 57, LINE_LENGTH = LINE_BYTES / 3 * 4 };

size_t base64_write(char *text, const void *bytes, size_t length)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
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

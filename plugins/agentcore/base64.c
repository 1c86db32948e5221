#include "base64.h"

size_t base64_write(char *out, const unsigned char *bytes, size_t length)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *begin = out;

    for (size_t at = 0; at < length; at += 3) {
        size_t left = length - at;
        unsigned int group = (unsigned int)bytes[at] << 16 | (left > 1 ? (unsigned int)bytes[at + 1] << 8 : 0) |
                             (left > 2 ? (unsigned int)bytes[at + 2] : 0);

        *out++ = letters[group >> 18];
        *out++ = letters[group >> 12 & 63];
        *out++ = left > 1 ? letters[group >> 6 & 63] : '=';
        *out++ = left > 2 ? letters[group & 63] : '=';
    }
    return (size_t)(out - begin);
}

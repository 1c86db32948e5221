#include "base/base64.h"

#include <stdlib.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode_to(char *text, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;

    for (; length >= 3; length -= 3, at += 3) {
        uint32_t group = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];

        *text++ = alphabet[group >> 18];
        *text++ = alphabet[group >> 12 & 63];
        *text++ = alphabet[group >> 6 & 63];
        *text++ = alphabet[group & 63];
    }
    if (length == 0)
        return;
    uint32_t group = (uint32_t)at[0] << 16 | (length == 2 ? (uint32_t)at[1] << 8 : 0);

    *text++ = alphabet[group >> 18];
    *text++ = alphabet[group >> 12 & 63];
    *text++ = length == 2 ? alphabet[group >> 6 & 63] : '=';
    *text++ = '=';
}

char *base64_encode(const void *bytes, size_t length)
{
    size_t text_length = base64_length(length);
    char *text = malloc(text_length + 1);

    if (!text)
        return NULL;
    base64_encode_to(text, bytes, length);
    text[text_length] = '\0';
    return text;
}

/* What is no digit. */
enum { PADDING = 64, BLANK = 65, NONE = 66 };

/* The six bits of each character from "\t" on, or one of those above. */
static const unsigned char values['z' - '\t' + 1] = {
    65, 65, 66, 66, 65, 66, 66, 66, 66, 66, 66, 66, 66, 66, 66, 66, 66, 66, 66, 66, 66, 66, 66, 65, 66, 66, 66, 66, 66,
    66, 66, 66, 66, 66, 62, 66, 66, 66, 63, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 66, 66, 66, 64, 66, 66, 66, 0,  1,
    2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 66, 66, 66, 66, 66,
    66, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51};

static unsigned int value_of(char character)
{
    unsigned int index = (unsigned char)character - (unsigned int)'\t';

    return index < sizeof(values) ? values[index] : NONE;
}

int base64_value(char character)
{
    unsigned int value = value_of(character);

    return value < PADDING ? (int)value : -1;
}

size_t base64_decode_run(const char *text, size_t length, void *bytes)
{
    unsigned char *out = bytes;
    size_t at = 0;

    for (; length - at >= 4; at += 4) {
        unsigned int a = value_of(text[at]);
        unsigned int b = value_of(text[at + 1]);
        unsigned int c = value_of(text[at + 2]);
        unsigned int d = value_of(text[at + 3]);

        if ((a | b | c | d) >= PADDING)
            break;
        *out++ = (unsigned char)(a << 2 | b >> 4);
        *out++ = (unsigned char)(b << 4 | c >> 2);
        *out++ = (unsigned char)(c << 6 | d);
    }
    return at;
}

/* Writes the bytes of a full group; returns where the next go. */
static unsigned char *flush(struct base64_decoder *decoder, unsigned char *out)
{
    *out++ = (unsigned char)(decoder->bits >> 16);
    if (decoder->padding < 2)
        *out++ = (unsigned char)(decoder->bits >> 8);
    if (decoder->padding < 1)
        *out++ = (unsigned char)decoder->bits;
    decoder->bits = 0;
    decoder->count = 0;
    return out;
}

bool base64_decode(struct base64_decoder *decoder, const char *text, size_t length, void *bytes, size_t *written)
{
    unsigned char *out = bytes;

    *written = 0;
    for (size_t i = 0; i < length; i++) {
        if (decoder->count == 0 && !decoder->padding) {
            size_t run = base64_decode_run(text + i, length - i, out);

            out += run / 4 * 3;
            i += run;
            if (i == length)
                break;
        }
        unsigned int value = value_of(text[i]);

        if (value == BLANK)
            continue;
        /* After padding only more of it may come, and not before the third character of a group. */
        if (value == NONE || (value < PADDING && decoder->padding) || (value == PADDING && decoder->count < 2))
            return false;
        decoder->padding += value == PADDING;
        decoder->bits = decoder->bits << 6 | (value & 63);
        if (++decoder->count == 4)
            out = flush(decoder, out);
    }
    *written = (size_t)(out - (unsigned char *)bytes);
    return true;
}

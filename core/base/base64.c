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

/* The six bits of a character; 64 for "=", 65 for blanks, 66 for what is none of these. */
static unsigned int value_of(unsigned char character)
{
    if (character >= 'A' && character <= 'Z')
        return character - 'A';
    if (character >= 'a' && character <= 'z')
        return character - 'a' + 26u;
    if (character >= '0' && character <= '9')
        return character - '0' + 52u;
    if (character == '+' || character == '/')
        return character == '+' ? 62 : 63;
    if (character == '=')
        return 64;
    return character == ' ' || character == '\t' || character == '\r' || character == '\n' ? 65 : 66;
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
        unsigned int value = value_of((unsigned char)text[i]);

        if (value == 65)
            continue;
        /* After padding only more of it may come, and not before the third character of a group. */
        if (value == 66 || (value < 64 && decoder->padding) || (value == 64 && decoder->count < 2))
            return false;
        decoder->padding += value == 64;
        decoder->bits = decoder->bits << 6 | (value & 63);
        if (++decoder->count == 4)
            out = flush(decoder, out);
    }
    *written = (size_t)(out - (unsigned char *)bytes);
    return true;
}

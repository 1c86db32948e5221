/* Base64 as in RFC 4648, section 4. */
#ifndef SANDLOT_BASE_BASE64_H
#define SANDLOT_BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length of the text of LENGTH bytes, without NUL. */
static inline size_t base64_length(size_t length)
{
    return (length + 2) / 3 * 4;
}

/* Writes base64_length(LENGTH) characters to TEXT. */
void base64_encode_to(char *text, const void *bytes, size_t length);

/* The text of BYTES with NUL, to be freed; NULL when out of memory. */
char *base64_encode(const void *bytes, size_t length);

/* The six bits of a digit; -1: it is none. */
int base64_value(char character);

/* Decodes groups of four characters as long as there is nothing but digits, three bytes each. Returns the number of
 * characters that it took. */
size_t base64_decode_run(const char *text, size_t length, void *bytes);

/* A decoder for text that comes in pieces. Zero at the beginning. */
struct base64_decoder {
    uint32_t bits;
    unsigned int count; /* characters of the group at hand */
    unsigned int padding;
};

/*
 * Decodes LENGTH characters into BYTES, which has room for LENGTH / 4 * 3 + 3; *WRITTEN is what came out. Blanks, tabs
 * and line ends are passed over. False: a character that does not belong here, or text after the padding.
 */
bool base64_decode(struct base64_decoder *decoder, const char *text, size_t length, void *bytes, size_t *written);

/* Was the text complete when it ended? */
static inline bool base64_decoder_done(const struct base64_decoder *decoder)
{
    return decoder->count == 0;
}

#endif

#include "operations/excerpt.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdbool.h>
#include <string.h>

enum { WIDEST = 4 }; /* bytes of one character, also of one made visible */

/* The length of the character at AT, which is valid UTF-8. */
static size_t character_size(unsigned char first)
{
    return first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
}

/* Writes one character as it is to be seen to OUT; returns how many bytes that are. */
static size_t show(char out[WIDEST + 1], const char *at, size_t size)
{
    unsigned char first = (unsigned char)at[0];
    unsigned char last = (unsigned char)at[size - 1];

    if (first == '\n' || first == '\r' || first == '\t')
        return (size_t)snprintf(out, WIDEST + 1, "\\%c", first == '\n' ? 'n' : first == '\r' ? 'r' : 't');
    if (first < 0x20 || first == 0x7f || (size == 2 && first == 0xc2 && last <= 0x9f))
        return (size_t)snprintf(out, WIDEST + 1, "\\x%02x", last);
    memcpy(out, at, size);
    return size;
}

char *excerpt(const char *text, size_t length, size_t bytes)
{
    static const char more[] = "...";
    /* one character more than is shown, so that its being there is seen */
    size_t looked_at = length < (EXCERPT_CHARACTERS + 1) * WIDEST ? length : (EXCERPT_CHARACTERS + 1) * WIDEST;
    size_t valid_length = 0;
    AUTO_FREE char *valid = text_utf8_replace(text, looked_at, &valid_length);
    char *shown = valid ? malloc(EXCERPT_CHARACTERS * WIDEST + sizeof(more)) : NULL;
    size_t used = 0;
    size_t at = 0;

    if (!shown)
        return NULL;
    for (size_t count = 0; at < valid_length && count < EXCERPT_CHARACTERS; count++) {
        char piece[WIDEST + 1];
        size_t size = character_size((unsigned char)valid[at]);
        size_t piece_size = show(piece, valid + at, size);

        if (used + piece_size > bytes)
            break;
        memcpy(shown + used, piece, piece_size);
        used += piece_size;
        at += size;
    }
    memcpy(shown + used, more, sizeof(more));
    if (at == valid_length)
        shown[used] = '\0';
    return shown;
}

char *excerpt_path(const char *path)
{
    return excerpt(path, strlen(path), EXCERPT_PATH);
}

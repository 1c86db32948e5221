#include "base/text.h"

#include "base/cleanup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

char *text_format_v(const char *format, va_list arguments)
{
    char *text = NULL;

    return vasprintf(&text, format, arguments) < 0 ? NULL : text;
}

char *text_format(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    char *text = text_format_v(format, arguments);
    va_end(arguments);
    return text;
}

bool text_append(char **text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    AUTO_FREE char *more = text_format_v(format, arguments);
    va_end(arguments);
    if (!more)
        return false;
    size_t length = *text ? strlen(*text) : 0;
    size_t added = strlen(more) + 1;
    char *joined = realloc(*text, length + added);

    if (!joined)
        return false;
    memcpy(joined + length, more, added);
    *text = joined;
    return true;
}

char *text_shell_quote(const char *text)
{
    static const char harmless[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";

    if (*text && text[strspn(text, harmless)] == '\0')
        return strdup(text);
    size_t length = 3;

    for (const char *c = text; *c; c++)
        length += *c == '\'' ? 4 : 1;
    char *quoted = malloc(length);
    char *out = quoted;

    if (!quoted)
        return NULL;
    *out++ = '\'';
    for (const char *c = text; *c; c++) {
        if (*c == '\'') {
            memcpy(out, "'\\''", 4);
            out += 4;
        } else {
            *out++ = *c;
        }
    }
    *out++ = '\'';
    *out = '\0';
    return quoted;
}

char *text_shell_join(char *const *words, size_t count)
{
    if (count == 1)
        return strdup(words[0]);
    AUTO_FREE char *joined = strdup("");

    for (size_t i = 0; joined && i < count; i++) {
        AUTO_FREE char *word = text_shell_quote(words[i]);

        if (!word || !text_append(&joined, i ? " %s" : "%s", word))
            return NULL;
    }
    return TAKE(joined);
}

/* The length of the valid UTF-8 character at BYTES, 0 if there is none. Unicode table 3-7. */
static size_t utf8_character(const unsigned char *bytes, size_t length)
{
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    size_t size;

    if (length == 0)
        return 0;
    if (bytes[0] < 0x80)
        return 1;
    if (bytes[0] >= 0xc2 && bytes[0] <= 0xdf)
        size = 2;
    else if (bytes[0] >= 0xe0 && bytes[0] <= 0xef)
        size = 3;
    else if (bytes[0] >= 0xf0 && bytes[0] <= 0xf4)
        size = 4;
    else
        return 0;
    if (bytes[0] == 0xe0)
        low = 0xa0;
    if (bytes[0] == 0xed)
        high = 0x9f;
    if (bytes[0] == 0xf0)
        low = 0x90;
    if (bytes[0] == 0xf4)
        high = 0x8f;
    for (size_t i = 1; i < size; i++) {
        if (i >= length || bytes[i] < low || bytes[i] > high)
            return 0;
        low = 0x80;
        high = 0xbf;
    }
    return size;
}

/* How many of LENGTH bytes are ASCII before the first that is not, or up to seven fewer. */
static size_t ascii_run(const unsigned char *bytes, size_t length)
{
    size_t run = 0;
    uint64_t word;

    for (; length - run >= sizeof(word); run += sizeof(word)) {
        memcpy(&word, bytes + run, sizeof(word));
        if (word & UINT64_C(0x8080808080808080))
            break;
    }
    return run;
}

bool text_utf8_valid(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    const unsigned char *end = at + length;

    while (at < end) {
        if (*at < 0x80)
            at += ascii_run(at, (size_t)(end - at));
        size_t size = utf8_character(at, (size_t)(end - at));

        if (size == 0)
            return at == end;
        at += size;
    }
    return true;
}

/* LENGTH bytes and a NUL; NULL when out of memory. */
static char *copy_bytes(const void *bytes, size_t length)
{
    char *copy = malloc(length + 1);

    if (!copy)
        return NULL;
    if (length > 0)
        memcpy(copy, bytes, length);
    copy[length] = '\0';
    return copy;
}

char *text_utf8_replace(const void *bytes, size_t length, size_t *result_length)
{
    if (length > (SIZE_MAX - 1) / 3)
        return NULL;
    if (text_utf8_valid(bytes, length)) {
        if (result_length)
            *result_length = length;
        return copy_bytes(bytes, length);
    }
    const unsigned char *at = bytes;
    const unsigned char *end = at + length;
    char *text = malloc(length * 3 + 1);
    char *out = text;

    if (!text)
        return NULL;
    while (at < end) {
        size_t size = utf8_character(at, (size_t)(end - at));

        if (size == 0) {
            memcpy(out, "\xef\xbf\xbd", 3);
            out += 3;
            at++;
        } else {
            memcpy(out, at, size);
            out += size;
            at += size;
        }
    }
    *out = '\0';
    if (result_length)
        *result_length = (size_t)(out - text);
    return text;
}

/* The code point of a valid character of SIZE bytes. */
static unsigned long code_point(const char *character, size_t size)
{
    unsigned long code = (unsigned char)character[0];

    if (size > 1)
        code &= 0x7fUL >> size;
    for (size_t i = 1; i < size; i++)
        code = code << 6 | ((unsigned char)character[i] & 0x3fU);
    return code;
}

/*
 * Invisible characters that change the order in which their neighbours are shown, end the line, or make two names look
 * like one. Not the joiners U+200C and U+200D, without which some languages and pictures cannot be written.
 */
static bool deceives(unsigned long code)
{
    static const struct {
        unsigned long first;
        unsigned long last;
    } ranges[] = {{0xad, 0xad},     {0x61c, 0x61c},   {0x180e, 0x180e}, {0x200b, 0x200b}, {0x200e, 0x200f},
                  {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};

    for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}

/* Writes one character as text_visible shows it. Returns the end of that. */
static char *show(char *out, const char *character, size_t size)
{
    const unsigned long code = code_point(character, size);

    if (code == '\n')
        return out + sprintf(out, "\\n");
    if (code < 0x20 || (code >= 0x7f && code <= 0x9f))
        return out + sprintf(out, "\\x%02lx", code);
    if (deceives(code))
        return out + sprintf(out, code > 0xffff ? "\\U%08lx" : "\\u%04lx", code);
    return mempcpy(out, character, size);
}

char *text_visible(const char *text)
{
    size_t length = 0;
    AUTO_FREE char *valid = text_utf8_replace(text, strlen(text), &length);
    char *visible = valid ? malloc(length * 4 + 1) : NULL;
    char *out = visible;

    if (!visible)
        return NULL;
    for (size_t i = 0, size; i < length; i += size) {
        size = utf8_character((const unsigned char *)valid + i, length - i);
        out = show(out, valid + i, size);
    }
    *out = '\0';
    return visible;
}

enum { LONGEST_NAME = 64 };

/* Edit distance with transpositions of neighbours (optimal string alignment). */
static size_t distance(const char *a, const char *b)
{
    size_t a_length = strlen(a);
    size_t b_length = strlen(b);
    unsigned char rows[3][LONGEST_NAME + 1];

    if (a_length > LONGEST_NAME || b_length > LONGEST_NAME)
        return SIZE_MAX;
    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = (unsigned char)j;
    for (size_t i = 1; i <= a_length; i++) {
        unsigned char *row = rows[i % 3];
        const unsigned char *above = rows[(i - 1) % 3];

        row[0] = (unsigned char)i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t best = above[j - 1] + (size_t)(a[i - 1] != b[j - 1]);

            if (above[j] + 1u < best)
                best = above[j] + 1u;
            if (row[j - 1] + 1u < best)
                best = row[j - 1] + 1u;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && rows[(i - 2) % 3][j - 2] + 1u < best)
                best = rows[(i - 2) % 3][j - 2] + 1u;
            row[j] = (unsigned char)best;
        }
    }
    return rows[a_length % 3][b_length];
}

bool text_is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

const char *text_nearest(const char *name, const char *const *names, size_t count)
{
    size_t limit = strlen(name) / 3 + 1; /* a third of the letters may be wrong */
    const char *nearest = NULL;

    for (size_t i = 0; i < count; i++) {
        size_t d = distance(name, names[i]);

        if (d <= limit && d < strlen(names[i])) {
            nearest = names[i];
            limit = d ? d - 1 : 0;
            if (d == 0)
                break;
        }
    }
    return nearest;
}

bool text_parse_integer(const char *text, int64_t *number)
{
    char *end;

    if (*text != '-' && *text != '+' && (*text < '0' || *text > '9'))
        return false;
    errno = 0;
    intmax_t value = strtoimax(text, &end, 10);

    if (errno || end == text || *end || value < INT64_MIN || value > INT64_MAX)
        return false;
    *number = value;
    return true;
}

bool text_has_word(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = list; at && *at;) {
        at += strspn(at, " \t");
        size_t size = strcspn(at, " \t");

        if (size == length && size && memcmp(at, word, size) == 0)
            return true;
        at += size;
    }
    return false;
}

size_t text_json_values(const char *text, size_t length)
{
    size_t values = 1;
    char quote = '\0'; /* json-c takes ' around names, strict or not */

    for (size_t i = 0; i < length; i++)
        if (quote ? text[i] == quote : text[i] == '"' || text[i] == '\'')
            quote = quote ? '\0' : text[i];
        else if (quote)
            i += text[i] == '\\';
        else
            values += text[i] == ',' || text[i] == '[' || text[i] == '{';
    return values;
}

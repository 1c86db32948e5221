#include "server/tail.h"

#include "base/cleanup.h"
#include "base/redact.h"
#include "base/text.h"

#include <string.h>

/* What is left out of a line whose beginning was not kept: it may be the end of a secret. */
enum { CUT_MARGIN = 1024 };

void tail_add(struct tail *tail, const void *bytes, size_t length)
{
    const char *at = bytes;

    tail->total += length;
    if (length > TAIL_KEPT) {
        at += length - TAIL_KEPT;
        length = TAIL_KEPT;
    }
    if (tail->length + length > TAIL_KEPT) {
        size_t surplus = tail->length + length - TAIL_KEPT;

        memmove(tail->bytes, tail->bytes + surplus, tail->length - surplus);
        tail->length -= surplus;
    }
    memcpy(tail->bytes + tail->length, at, length);
    tail->length += length;
}

/* Behind the escape sequence at AT: CSI to its final byte, OSC and its kin to BEL or ST, others two or three
 * bytes. */
static const char *behind_escape(const char *at, const char *end)
{
    at++;
    while (at < end && *at >= 0x20 && *at <= 0x2f)
        at++; /* of those with three bytes, such as the choice of a character set */
    if (at >= end)
        return end;
    char kind = *at++;

    if (kind == '[') {
        while (at < end && (unsigned char)*at < 0x40)
            at++;
        return at < end ? at + 1 : end;
    }
    if (!kind || !strchr("]PX^_", kind))
        return at;
    while (at < end && *at != '\a' && *at != '\033')
        at++;
    if (at < end && *at == '\033')
        at++;
    return at < end ? at + 1 : end;
}

/* TEXT without controls, in place; the new length. Tabs become blanks. Blanks at both ends go. */
static size_t clean(char *text, size_t length)
{
    char *out = text;
    const char *end = text + length;

    for (const char *at = text; at < end;) {
        unsigned char c = (unsigned char)*at;

        if (c == '\033') {
            at = behind_escape(at, end);
            continue;
        }
        at++;
        if (c == 0xc2 && at < end && (unsigned char)*at < 0xa0) {
            at++; /* U+0080 to U+009F */
            continue;
        }
        if (c == '\t')
            c = ' ';
        if (c < 0x20 || c == 0x7f || (c == ' ' && out == text))
            continue;
        *out++ = (char)c;
    }
    while (out > text && out[-1] == ' ')
        out--;
    return (size_t)(out - text);
}

/* The length of the first COUNT characters of TEXT, which is UTF-8. */
static size_t first_characters(const char *text, size_t length, size_t count)
{
    size_t at = 0;

    for (; at < length; at++)
        if (((unsigned char)text[at] & 0xc0) != 0x80 && count-- == 0)
            break;
    return at;
}

/* One line, made fit to be shown; NULL if nothing is left of it. */
static char *present(const char *line, size_t length, size_t *shown)
{
    size_t hidden_length;
    size_t utf8_length;
    AUTO_FREE char *hidden = redact_bytes(line, length, &hidden_length);
    AUTO_FREE char *utf8 = hidden ? text_utf8_replace(hidden, hidden_length, &utf8_length) : NULL;

    if (!utf8)
        return NULL;
    *shown = first_characters(utf8, clean(utf8, utf8_length), TAIL_LINE_CHARACTERS);
    utf8[*shown] = '\0';
    return *shown ? TAKE(utf8) : NULL;
}

char *tail_line(const struct tail *tail, size_t *length)
{
    const char *end = tail->bytes + tail->length;

    while (end > tail->bytes) {
        const char *start = end;

        while (start > tail->bytes && start[-1] != '\n' && start[-1] != '\r')
            start--;
        bool cut = start == tail->bytes && tail->total > TAIL_KEPT;
        size_t margin = cut ? CUT_MARGIN : 0;
        size_t line_length = (size_t)(end - start);
        char *line = line_length > margin ? present(start + margin, line_length - margin, length) : NULL;

        if (line)
            return line;
        end = start > tail->bytes ? start - 1 : start;
    }
    return NULL;
}

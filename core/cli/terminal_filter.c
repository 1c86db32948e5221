#include "cli/terminal_filter.h"

#include <string.h>

enum { ESCAPE = 0x1b, DELETE = 0x7f };

/* How many bytes follow the first byte of a character of UTF-8. */
static unsigned int continuation_bytes(unsigned char byte)
{
    if (byte >= 0xc2 && byte <= 0xdf)
        return 1;
    if (byte >= 0xe0 && byte <= 0xef)
        return 2;
    return byte >= 0xf0 && byte <= 0xf4 ? 3 : 0;
}

static size_t in_text(struct terminal_filter *filter, unsigned char byte, char *out)
{
    bool continues = filter->continuation > 0 && byte >= 0x80 && byte <= 0xbf;

    filter->continuation = continues ? filter->continuation - 1 : 0;
    if (byte == ESCAPE) {
        filter->state = FILTER_ESCAPE;
        return 0;
    }
    if (byte == 0xc2) {
        filter->state = FILTER_C2;
        return 0;
    }
    if (byte < 0x20 && byte != '\n' && byte != '\t' && byte != '\r')
        return 0;
    /* A byte from 80 to 9F outside a character is a control to a terminal that does not know UTF-8. */
    if (byte == DELETE || (byte >= 0x80 && byte <= 0x9f && !continues))
        return 0;
    if (!continues)
        filter->continuation = continuation_bytes(byte);
    *out = (char)byte;
    return 1;
}

/* What follows ESC, or its one-character form: C1 is "[" for CSI and so on. */
static void begin_sequence(struct terminal_filter *filter, unsigned char c1)
{
    filter->length = 0;
    if (c1 == '[')
        filter->state = FILTER_CSI;
    else if (c1 && strchr("]PX^_", c1))
        filter->state = FILTER_STRING;
    else if (c1 == ESCAPE || (c1 >= 0x20 && c1 <= 0x2f)) /* intermediate bytes: a final one is still to come */
        filter->state = FILTER_ESCAPE;
    else
        filter->state = FILTER_TEXT;
}

static size_t after_c2(struct terminal_filter *filter, unsigned char byte, char *out)
{
    filter->state = FILTER_TEXT;
    if (byte >= 0x80 && byte <= 0x9f) {
        begin_sequence(filter, (unsigned char)(byte - 0x40));
        return 0;
    }
    out[0] = (char)0xc2;
    filter->continuation = 1;
    return 1 + in_text(filter, byte, out + 1);
}

/* Colours only: digits, ";" and ":" and then "m". */
static size_t end_csi(struct terminal_filter *filter, unsigned char final, char *out)
{
    size_t length = filter->length;

    filter->state = FILTER_TEXT;
    if (final != 'm' || length > sizeof(filter->sequence))
        return 0;
    for (size_t i = 0; i < length; i++)
        if (!strchr("0123456789;:", filter->sequence[i]))
            return 0;
    filter->coloured = !(length == 0 || (length == 1 && filter->sequence[0] == '0'));
    out[0] = ESCAPE;
    out[1] = '[';
    memcpy(out + 2, filter->sequence, length);
    out[2 + length] = 'm';
    return length + 3;
}

static size_t in_csi(struct terminal_filter *filter, unsigned char byte, char *out)
{
    if (byte >= 0x40 && byte <= 0x7e)
        return end_csi(filter, byte, out);
    if (byte < 0x20 || byte >= DELETE) { /* broken off; nothing of it has been written */
        filter->state = FILTER_TEXT;
        return in_text(filter, byte, out);
    }
    /* One longer than fits is remembered as too long, and dropped at its end. */
    if (filter->length < sizeof(filter->sequence))
        filter->sequence[filter->length++] = (char)byte;
    else
        filter->length = sizeof(filter->sequence) + 1;
    return 0;
}

static size_t in_string(struct terminal_filter *filter, unsigned char byte, char *out)
{
    bool ended_by_escape = filter->state == FILTER_STRING_END;

    if (ended_by_escape || byte == '\a' || byte == 0x18 || byte == 0x1a) {
        filter->state = FILTER_TEXT;
        if (ended_by_escape && byte != '\\')
            begin_sequence(filter, byte);
        return 0;
    }
    if (byte == ESCAPE) {
        filter->state = FILTER_STRING_END;
        return 0;
    }
    if (byte != '\n')
        return 0;
    /* Its beginning was not written, so a line's end may close it: a string without end would swallow all that follows.
     */
    filter->state = FILTER_TEXT;
    return in_text(filter, byte, out);
}

static size_t step(struct terminal_filter *filter, unsigned char byte, char *out)
{
    switch (filter->state) {
    case FILTER_TEXT:
        return in_text(filter, byte, out);
    case FILTER_ESCAPE:
        if (byte != ESCAPE && (byte < 0x20 || byte >= DELETE)) { /* broken off */
            filter->state = FILTER_TEXT;
            return in_text(filter, byte, out);
        }
        begin_sequence(filter, byte);
        return 0;
    case FILTER_CSI:
        return in_csi(filter, byte, out);
    case FILTER_STRING:
    case FILTER_STRING_END:
        return in_string(filter, byte, out);
    case FILTER_C2:
        return after_c2(filter, byte, out);
    }
    return 0;
}

size_t terminal_filter(struct terminal_filter *filter, const void *bytes, size_t length, char *out)
{
    const unsigned char *in = bytes;
    size_t written = 0;

    for (size_t i = 0; i < length; i++)
        written += step(filter, in[i], out + written);
    return written;
}

size_t terminal_filter_end(struct terminal_filter *filter, char *out)
{
    static const char reset[] = {ESCAPE, '[', '0', 'm'};
    bool coloured = filter->coloured;

    *filter = (struct terminal_filter){0};
    if (!coloured)
        return 0;
    memcpy(out, reset, sizeof(reset));
    return sizeof(reset);
}

#include "body.h"

#include <string.h>

enum { LINE_MOST = 4096, SIZE_DIGITS = 15 };

/* Where in a chunked body (RFC 9112, 7.1) the next byte is. */
enum chunk_state {
    CHUNK_SIZE,
    CHUNK_EXTENSION,
    CHUNK_SIZE_END, /* the line feed behind it */
    CHUNK_DATA,
    CHUNK_DATA_RETURN,
    CHUNK_DATA_END,
    TRAILER_START,
    TRAILER_NAME,
    TRAILER,
    TRAILER_END,
    LAST_END
};

void body_begin(struct body *body, enum framing framing, uint64_t length)
{
    *body = (struct body){.framing = framing, .left = framing == FRAMING_LENGTH ? length : 0, .state = CHUNK_SIZE};
    body->ended = framing == FRAMING_NONE || (framing == FRAMING_LENGTH && length == 0);
}

static int hexadecimal(char byte)
{
    static const char digits[] = "0123456789abcdef";
    const char lower = byte >= 'A' && byte <= 'F' ? (char)(byte + 32) : byte;
    const char *found = byte ? strchr(digits, lower) : NULL;

    return found ? (int)(found - digits) : -1;
}

static bool is_text(char byte)
{
    return byte == '\t' || ((unsigned char)byte >= ' ' && byte != 0x7f);
}

static bool take_size(struct body *body, char byte)
{
    const int digit = hexadecimal(byte);

    if (digit >= 0) {
        body->left = body->left * 16 + (unsigned)digit;
        return ++body->line <= SIZE_DIGITS;
    }
    body->state = byte == '\r' ? CHUNK_SIZE_END : CHUNK_EXTENSION;
    return body->line > 0 && (byte == '\r' || byte == ';');
}

/* A byte of a line that ends with "\r", after which the state is NEXT. */
static bool take_line(struct body *body, char byte, enum chunk_state next)
{
    if (byte == '\r')
        body->state = next;
    return byte == '\r' || (is_text(byte) && ++body->line <= LINE_MOST);
}

/* A byte of a trailer's name. A line that is no field would be another request to who reads no trailers. */
static bool take_name(struct body *body, char byte)
{
    body->state = byte == ':' ? TRAILER : TRAILER_NAME;
    return (byte == ':' || head_takes_name_byte((unsigned char)byte)) && ++body->line <= LINE_MOST;
}

static bool take_exactly(struct body *body, char byte, char wanted, enum chunk_state next)
{
    body->state = next;
    return byte == wanted;
}

/* One byte that is none of a chunk's data. */
static bool take_byte(struct body *body, char byte)
{
    switch ((enum chunk_state)body->state) {
    case CHUNK_SIZE:
        return take_size(body, byte);
    case CHUNK_EXTENSION:
        return take_line(body, byte, CHUNK_SIZE_END);
    case CHUNK_SIZE_END:
        body->line = 0;
        return take_exactly(body, byte, '\n', body->left ? CHUNK_DATA : TRAILER_START);
    case CHUNK_DATA_RETURN:
        return take_exactly(body, byte, '\r', CHUNK_DATA_END);
    case CHUNK_DATA_END:
        return take_exactly(body, byte, '\n', CHUNK_SIZE);
    case TRAILER_START:
        if (byte == '\r')
            return take_exactly(body, byte, '\r', LAST_END);
        return byte != ':' && take_name(body, byte);
    case TRAILER_NAME:
        return take_name(body, byte);
    case TRAILER:
        return take_line(body, byte, TRAILER_END);
    case TRAILER_END:
        return take_exactly(body, byte, '\n', TRAILER_START);
    case LAST_END:
        body->ended = true;
        return byte == '\n';
    case CHUNK_DATA:
        break;
    }
    return false;
}

static size_t take_counted(struct body *body, size_t length)
{
    const size_t taken = body->left < length ? (size_t)body->left : length;

    body->left -= taken;
    return taken;
}

/* What the next byte of a chunked body is, unless that ends a line. */
static enum body_part part_of(const struct body *body, char byte)
{
    if (body->state == CHUNK_DATA)
        return BODY_DATA;
    if (byte == '\r')
        return BODY_FRAME;
    return body->state == CHUNK_EXTENSION                           ? BODY_EXTENSION
           : body->state >= TRAILER_START && body->state <= TRAILER ? BODY_TRAILER
                                                                    : BODY_FRAME;
}

static long step_chunked(struct body *body, const char *bytes, size_t length, enum body_part *part)
{
    *part = part_of(body, *bytes);
    if (*part != BODY_DATA)
        return take_byte(body, *bytes) ? 1 : -1;
    const size_t taken = take_counted(body, length);

    if (body->left == 0)
        body->state = CHUNK_DATA_RETURN;
    return (long)taken;
}

long body_step(struct body *body, const char *bytes, size_t length, enum body_part *part)
{
    *part = BODY_DATA;
    if (body->ended || length == 0)
        return 0;
    if (body->framing == FRAMING_UNTIL_END)
        return (long)length;
    if (body->framing == FRAMING_CHUNKED)
        return step_chunked(body, bytes, length, part);
    const size_t taken = take_counted(body, length);

    body->ended = body->left == 0;
    return (long)taken;
}

long body_take(struct body *body, const char *bytes, size_t length)
{
    enum body_part part;
    size_t used = 0;

    while (used < length && !body->ended) {
        const long taken = body_step(body, bytes + used, length - used, &part);

        if (taken < 0)
            return -1;
        used += (size_t)taken;
    }
    return (long)used;
}

/*
 * yamux, which carries streams over one connection: the frames of a session with a single stream, which this side has
 * opened. Nothing is sent or received here; tunnel.c does that.
 *
 * A frame is a head of 12 bytes, all numbers big-endian: version (0), kind, flags (2 bytes), stream (4), length (4).
 * Bytes follow the head of data alone. Each side says how many bytes it has room for, and the other sends no more.
 */
#ifndef SANDLOT_LANGSMITH_YAMUX_H
#define SANDLOT_LANGSMITH_YAMUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { YAMUX_HEAD = 12, YAMUX_WINDOW = 256 * 1024 /* what each side has room for in the beginning */ };

enum yamux_kind { YAMUX_DATA, YAMUX_ROOM, YAMUX_PING, YAMUX_GOODBYE };
enum yamux_flag { YAMUX_OPEN = 1, YAMUX_ANSWER = 2, YAMUX_END = 4, YAMUX_RESET = 8 };

struct yamux {
    uint32_t may_send; /* bytes that the other side has room for */
    uint32_t may_come; /* and that there is room for here */
    bool ended;        /* the other side sends nothing more */
    bool broken;       /* the stream or the session is over */
    unsigned char head[YAMUX_HEAD];
    size_t head_length; /* of the frame at hand */
    uint32_t left;      /* of its bytes */
    bool skipped;       /* they are of another stream */
    bool ending;        /* they are the last */
};

/* What has come, and is taken from. */
struct yamux_input {
    const unsigned char *bytes;
    size_t length;
};

/* What was taken. */
struct yamux_piece {
    enum yamux_kind kind;       /* YAMUX_DATA or YAMUX_PING */
    const unsigned char *bytes; /* of data */
    size_t length;
    uint32_t ping; /* to be answered with */
};

void yamux_init(struct yamux *yamux);

/* Takes the next piece that is to be acted upon. False: there is none, and all input is taken. */
bool yamux_take(struct yamux *yamux, struct yamux_input *input, struct yamux_piece *piece);

/* Writes the head of a frame of the stream; of the session if KIND is YAMUX_PING. */
void yamux_write(unsigned char head[YAMUX_HEAD], enum yamux_kind kind, unsigned flags, uint32_t length);

#endif

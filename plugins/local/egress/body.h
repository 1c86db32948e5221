/* The body of an HTTP/1 message on its way: how many bytes belong to it. */
#ifndef SANDLOT_EGRESS_BODY_H
#define SANDLOT_EGRESS_BODY_H

#include "head.h"

struct body {
    enum framing framing;
    uint64_t left; /* of the length, or of the chunk */
    unsigned state;
    unsigned line; /* bytes of the line that is being read */
    bool ended;
};

/* What a byte of a body is. */
enum body_part {
    BODY_DATA,
    BODY_FRAME,     /* sizes of chunks and ends of lines */
    BODY_EXTENSION, /* of a chunk's size */
    BODY_TRAILER
};

void body_begin(struct body *body, enum framing framing, uint64_t length);

/* The next run of one *PART: how many of the LENGTH next bytes, at least one; 0: the body has ended, or there are none;
 * -1: it is malformed. */
long body_step(struct body *body, const char *bytes, size_t length, enum body_part *part);

/* How many of the LENGTH next bytes belong to the body; fewer than LENGTH when it has ended. -1: it is malformed. */
long body_take(struct body *body, const char *bytes, size_t length);

#endif

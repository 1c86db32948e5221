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

void body_begin(struct body *body, enum framing framing, uint64_t length);

/* How many of the LENGTH next bytes belong to the body; fewer than LENGTH when it has ended. -1: it is malformed. */
long body_take(struct body *body, const char *bytes, size_t length);

#endif

/*
 * The head of an HTTP/1 message, read strictly: what two readers could understand in two ways is refused, for the one
 * behind this one would understand the other.
 */
#ifndef SANDLOT_EGRESS_HEAD_H
#define SANDLOT_EGRESS_HEAD_H

#include "host.h"

enum { HEAD_MOST = 32 * 1024, HEAD_FIELDS = 128 };

struct span {
    const char *at;
    size_t length;
};

struct field {
    struct span name;
    struct span value; /* without blanks around it */
    bool ours;         /* set here: it goes on whatever the sender's Connection names */
};

struct head {
    struct span start[3]; /* method, target, version; of an answer: version, status, reason */
    struct field fields[HEAD_FIELDS];
    size_t count;
    int status; /* of an answer */
};

enum head_kind { HEAD_REQUEST, HEAD_ANSWER };

/* How the body behind a head is told from what follows it. */
enum framing { FRAMING_NONE, FRAMING_LENGTH, FRAMING_CHUNKED, FRAMING_UNTIL_END };

/*
 * Where the head ends among LENGTH bytes, of which *SEEN were looked at before: its length with the empty line; 0: it
 * goes on; -1: it never can be one (a line that ends without a carriage return, a NUL, too long).
 */
long head_find_end(const char *bytes, size_t length, size_t *seen);

/* Reads a head of LENGTH bytes, its end as head_find_end has it. The spans are of BYTES. */
bool head_parse(const char *bytes, size_t length, enum head_kind kind, struct head *head);

/* May BYTE be one of a field's name? */
bool head_takes_name_byte(unsigned char byte);

bool span_is(struct span span, const char *text); /* whatever the case */

/* The only field NAME; NULL if there is none, or if there are several, which *SEVERAL tells. */
const struct field *head_only(const struct head *head, const char *name, bool *several);

/* The framing of the body, for a request or an answer; false if it is said twice, wrongly, or in two ways. */
bool head_framing(const struct head *head, enum head_kind kind, enum framing *framing, uint64_t *length);

/* Where a request wants to go. */
struct target {
    bool tunnel; /* CONNECT */
    struct host host;
    uint16_t port;
    struct span path; /* of a request that is no tunnel, from "/" on; empty: "/" */
};

/*
 * The destination of a request to a proxy, which a Host field must agree with. WITHIN: the request is in a tunnel to
 * that target, names a path only, and must have its Host. False if it says none or two.
 */
bool head_target(const struct head *head, const struct target *within, struct target *target);

/* Would the connection behind it take another message, by what the head says? */
bool head_persists(const struct head *head, enum head_kind kind);

/* So many bytes are enough for the head written anew. */
size_t head_size(const struct head *head);

/*
 * Writes the request for the server itself: its path, TARGET as the only Host, no field that was meant for the proxy,
 * and "Connection: close" if it is the LAST. An answer likewise. The length, or 0 if it does not fit into SIZE bytes.
 */
size_t head_write_request(const struct head *head, const struct target *target, bool last, char *result, size_t size);
size_t head_write_answer(const struct head *head, bool last, char *result, size_t size);

#endif

/*
 * One connection out of the box, and the chain of filters that it goes through: filters.c has their table. A filter
 * sees the connection until it lets it through to the next one; the last one copies.
 */
#ifndef SANDLOT_EGRESS_CONNECTION_H
#define SANDLOT_EGRESS_CONNECTION_H

#include "body.h"
#include "policy.h"
#include "resolve.h"

enum { STREAM_SIZE = 128 * 1024, CONNECTIONS = 256 };

enum side { SIDE_BOX, SIDE_OUTSIDE, SIDES };

/* What epoll(7) reports on: the first member of an end, and the egress's own descriptors. */
struct source {
    enum source_kind { SOURCE_CONTROL, SOURCE_LISTENER, SOURCE_RESOLVER, SOURCE_NAMES, SOURCE_END } kind;
};

struct connection;

struct end {
    struct source source;
    struct connection *connection;
    int fd;           /* -1: none */
    uint32_t wanted;  /* events that a filter waits for */
    uint32_t watched; /* those that epoll has; 0: the descriptor is not in it */
};

/* What one side says. */
struct stream {
    char *head;     /* what goes to the other side before BYTES: a head written anew, or an answer of our own */
    size_t head_at; /* how much of it has gone */
    size_t head_length;
    char *bytes;    /* STREAM_SIZE; NULL: nothing was read yet */
    size_t at;      /* gone to here */
    size_t cleared; /* may go to here */
    size_t length;  /* read to here */
    size_t seen;    /* head_find_end */
    size_t taken;   /* of a body, which ends where its framing says: looked at to here */
    struct body body;
    bool framed; /* only the body, as its head told, may go */
    bool ended;  /* nothing more comes */
    bool shut;   /* the other side was told */
};

struct egress;
struct interception; /* of interceptor.h */
struct written;

struct connection {
    struct connection *next;
    struct egress *egress;
    struct end ends[SIDES];
    struct stream streams[SIDES]; /* by who says it */
    size_t filter;                /* the place in the table */
    int64_t deadline_ms;          /* CLOCK_MONOTONIC */
    int64_t started_ms;
    int64_t decided_at_ms; /* UTC; 0: not yet */
    struct target target;  /* its path points into the box's stream, for as long as the head is read */
    bool direct;           /* the box knows of no proxy: it has dialled an address of the gate */
    bool http;             /* requests and answers are read, not only copied */
    bool headless;         /* the answer has no body whatever its head says: to HEAD */
    bool greeted;          /* a tunnel's box has its "200" */
    bool answered;         /* the final answer's head has come */
    bool resolved;
    bool allowed;
    bool over;
    bool secured;    /* the box speaks TLS with this process, and what is within is read */
    bool persistent; /* after this answer there may be another request */
    bool kept;       /* there has been one already */
    bool whole;      /* it ends because all was said */
    bool again;      /* goes on without waiting for anything: something has been read that epoll does not know of */
    struct interception *interception; /* NULL: none */
    char rule[RULE_SIZE];
    char reason[160];
    struct resolve_answer *addresses; /* NULL: none yet */
    size_t address;                   /* which of them is dialled */
    uint32_t query;
    uint64_t bytes_in;
    uint64_t bytes_out;
};

/* What a filter says. */
enum verdict {
    VERDICT_NEXT,    /* the next filter's turn */
    VERDICT_WAIT,    /* for what it wants of an end, an answer or the deadline */
    VERDICT_AGAIN,   /* for the next request of the same connection */
    VERDICT_REFUSED, /* connection_refuse() has been called, or all is answered though more comes */
    VERDICT_END
};

struct filter {
    const char *name;
    int64_t limit_ms; /* how long it may take; the copying filter: how long nothing may move */
    enum verdict (*step)(struct connection *connection);
    const char *late; /* the reason when it does not come to an end in time */
};

/* The places in the table that others need to know. */
enum {
    FILTER_HEAD = 0,
    FILTER_DECIDE = 1,
    FILTER_RESOLVE = 2,
    FILTER_DIAL = 3,
    FILTER_FIRST_BYTES = 4,
    FILTER_REQUEST = 6,
    FILTER_COPY = 7,
    FILTER_REFUSE = 8,
    FILTER_NAMES = 9,
    FILTERS = 10
};

enum verdict filter_read_head(struct connection *connection);
enum verdict filter_decide(struct connection *connection);
enum verdict filter_resolve(struct connection *connection);
enum verdict filter_dial(struct connection *connection);
enum verdict filter_first_bytes(struct connection *connection);
enum verdict filter_intercept(struct connection *connection);
enum verdict filter_request(struct connection *connection);
enum verdict filter_copy(struct connection *connection);
enum verdict filter_refuse(struct connection *connection);
enum verdict filter_names(struct connection *connection);

/* Reads the head of a request in the box's stream, in a tunnel if WITHIN, and writes it anew for the server. */
enum verdict request_take(struct connection *connection, const struct target *within);

/* Goes on to the next of the addresses. False: there is none. */
bool dial_next(struct connection *connection);

/* It goes through the chain from FILTER on. */
void connection_begin(struct connection *connection, size_t filter);

/* Goes through the chain as far as it is possible now. The connection may be over then. */
void connection_advance(struct connection *connection);

/* Its deadline has passed. */
void connection_late(struct connection *connection);

/* Ends it, with a line in the log. It is freed when the loop comes round. */
void connection_end(struct connection *connection);

/*
 * Refuses it, for REASON: an answer of HTTP with STATUS ("403 Forbidden") and ADVICE as a second sentence, or nothing
 * but the end where the box no longer waits for such an answer. Returns VERDICT_REFUSED.
 */
enum verdict connection_refuse(struct connection *connection, const char *status, const char *reason,
                               const char *advice);

/* Frees and wipes the head that STREAM has before its bytes: there may be a secret in it. */
void stream_drop_head(struct stream *stream);

/* Reads what SIDE says into its stream. False when the connection is broken. */
bool connection_read(struct connection *connection, enum side side);

/* Sends on what SIDE has said and what may go. False when the connection is broken. */
bool connection_write(struct connection *connection, enum side side);

/* Is all that is said on it sent on as it is, and looked at by nobody? */
bool connection_passes(const struct connection *connection);

/*
 * Sends on what SIDE says next on a connection that passes, within the kernel (splice(2)): what comes does not get into
 * this process's memory. What the other side does not take yet is in the stream. False when the connection is broken.
 */
bool connection_pass(struct connection *connection, enum side side);

/* Lets go what SIDE has said: all of it, or as much as belongs to the body. False if that is malformed. */
bool connection_clear(struct connection *connection, enum side side);

/* Is there something of SIDE's that may go? */
bool connection_pending(const struct connection *connection, enum side side);

/* Does the connection still fit POLICY? */
bool connection_fits(const struct connection *connection, const struct policy *policy);

#endif

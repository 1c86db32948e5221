/* One request over HTTP and what is sent back: the channel that the server answers through. */
#ifndef SANDLOT_SERVER_HTTP_EXCHANGE_H
#define SANDLOT_SERVER_HTTP_EXCHANGE_H

#include "server/channel.h"
#include "server/http/checks.h"
#include "server/message.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct connection;

/* A message that waits to be sent. */
struct outgoing_text {
    struct outgoing_text *next;
    size_t length;
    char text[];
};

/* It belongs to its connection and to the calls that answer through it; the last of both frees it. */
struct exchange {
    struct channel channel; /* first: it is what the server knows */
    struct connection *connection;
    struct http_fields fields;
    char *body;
    size_t body_length;
    size_t body_room;
    size_t thrown_away;   /* of a body that nobody wants */
    unsigned int refusal; /* the HTTP status; 0: it was not refused */
    const char *why;      /* of that */
    bool received;        /* the server has had it */
    bool modern;
    bool malformed; /* does not say of itself what it must, or what its header fields do not */
    char *frame;    /* the event at hand */
    size_t frame_length;
    size_t frame_sent;

    pthread_mutex_t lock; /* for what follows */
    unsigned int holders; /* the connection, the channel */
    struct outgoing_text *first;
    struct outgoing_text **last;
    bool answered; /* the answer is the last of these */
    enum rpc_code code;
    bool over;   /* nobody will answer any more */
    bool closed; /* nobody will read it */
    int wake_fd; /* -1: nobody waits */
};

/* NULL when out of memory. */
struct exchange *exchange_new(struct peer *peer);

/* The connection does not need it any more. */
void exchange_close(struct exchange *exchange);

/* Appends to the body; false when out of memory. */
bool exchange_add_body(struct exchange *exchange, const char *bytes, size_t length);

enum exchange_state {
    EXCHANGE_WAITING,
    EXCHANGE_ANSWERED, /* with nothing before the answer */
    EXCHANGE_TALKING,  /* something else comes first */
    EXCHANGE_OVER      /* there will be no answer */
};

enum exchange_state exchange_state(struct exchange *exchange);

enum exchange_event { EXCHANGE_NEWS, EXCHANGE_GONE, EXCHANGE_TIME };

/* Waits until something is to be sent, the other side of the socket FD has gone, or TIMEOUT_MS are over. */
enum exchange_event exchange_wait(struct exchange *exchange, int fd, int timeout_ms);

/* The next message, to be freed; NULL: there is none now. */
struct outgoing_text *exchange_take(struct exchange *exchange);

/* Has a request been answered, or need it not be? */
bool exchange_is_settled(struct exchange *exchange);

#endif

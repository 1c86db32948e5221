/* Where messages come from and answers go to: the pipe, or one request over HTTP. */
#ifndef SANDLOT_SERVER_CHANNEL_H
#define SANDLOT_SERVER_CHANNEL_H

#include "server/message.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Who is at the other side. Ids count among the calls of one peer. */
struct peer {
    bool initialized; /* legacy requests are served; from the beginning where every request stands alone */
    bool batches;     /* speaks the revision that has them */
    bool many;        /* several clients that cannot be told apart: the same id may come from two of them */
};

enum outgoing {
    OUTGOING_ANSWER,  /* made at once, by the thread that received: it must not wait */
    OUTGOING_RESULT,  /* of a tool: may wait until the client has read what was sent before */
    OUTGOING_NOTICE,  /* a notification that must arrive */
    OUTGOING_PROGRESS /* may be left out when the client reads slowly; sent with a lock held, so it must not wait */
};

/* A transport embeds this. It is freed when the last call that would answer through it has ended. */
struct channel {
    struct peer *peer; /* lives at least as long */
    /* Sends one message: TEXT is JSON in one line, without newline. CODE is that of an error, else RPC_OK. On any
     * thread. */
    void (*send)(struct channel *channel, enum outgoing kind, const char *text, size_t length, enum rpc_code code);
    void (*destroy)(struct channel *channel);
    atomic_uint references; /* 1 for whoever made it */
};

static inline struct channel *channel_hold(struct channel *channel)
{
    atomic_fetch_add(&channel->references, 1);
    return channel;
}

static inline void channel_release(struct channel *channel)
{
    if (atomic_fetch_sub(&channel->references, 1) == 1)
        channel->destroy(channel);
}

/* A channel that gathers the answers to a batch and sends them through PARENT as one array, once the last is there.
 * NULL when out of memory. */
struct channel *batch_channel_new(struct channel *parent);

#endif

/* The calls that are under way: their threads, their cancellation, their progress. */
#ifndef SANDLOT_SERVER_CALLS_H
#define SANDLOT_SERVER_CALLS_H

#include "server/channel.h"
#include "server/holder.h"

#include <stdbool.h>
#include <stdint.h>

struct calls;
struct call;

/* What all calls share; the pointers must live as long. */
struct calls_options {
    struct holder *holder;
    const char *info; /* the server's description, JSON, for modern results */
    size_t maximum_result_bytes;
};

struct calls *calls_new(const struct calls_options *options);

/* A request for a tool: all pieces belong to the caller. */
struct calls_request {
    struct channel *channel;
    struct piece id;
    struct piece token; /* of progress; without text: none is wanted */
    const char *tool;
    struct piece arguments; /* an object, or without text */
    bool modern;
};

/* Runs it on a thread, at once or when one is free; the answer goes to its channel. False: there are too many, or no
 * memory, or the end has begun. */
bool calls_submit(struct calls *calls, const struct calls_request *request);

/* The thread that reads messages offers to run one of the calls that they bring, so that none need be woken for it. As
 * soon as it has taken those messages it must claim one. */
void calls_offer(struct calls *calls);

/* Ends the offer. A call that waited, which must be run now; NULL: there is none. */
struct call *calls_claim(struct calls *calls);
void calls_run(struct calls *calls, struct call *call);

/* Keeps a subscription until it is cancelled or the server ends, which is then its answer. */
bool calls_subscribe(struct calls *calls, struct channel *channel, struct piece id);

/* Is a call with this id of this peer under way? */
bool calls_has(struct calls *calls, const struct peer *peer, struct piece id);

/* Cancels the one with this id, and answers nothing. Where several could be meant it does nothing. */
void calls_cancel(struct calls *calls, const struct peer *peer, struct piece id);

/* Cancels all calls of a channel, and answers nothing. */
void calls_hang_up(struct calls *calls, const struct channel *channel);

/* How many run or wait, subscriptions not counted. */
size_t calls_count(struct calls *calls);

/* Nothing new is taken any more, and subscriptions are answered. */
void calls_close(struct calls *calls);

/* Cancels all that is left; each is answered with what happened. */
void calls_cancel_all(struct calls *calls);

/* Waits until none is left, until UNTIL_MS of CLOCK_MONOTONIC or until STOP_FD (-1: none) is readable. True: none is.
 */
bool calls_wait(struct calls *calls, int64_t until_ms, int stop_fd);

/* Frees it; none may be left. */
void calls_free(struct calls *calls);

#endif

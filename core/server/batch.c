/* Answers to a batch. Progress goes out as it comes; the answers wait for each other. */
#include "server/channel.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct batch {
    struct channel channel;
    struct channel *parent;
    pthread_mutex_t lock;
    char *answers; /* "[A,B" */
    size_t length;
};

static void add(struct batch *batch, const char *text, size_t length)
{
    char *grown = realloc(batch->answers, batch->length + length + 2);

    if (!grown)
        return;
    batch->answers = grown;
    grown[batch->length] = batch->length ? ',' : '[';
    memcpy(grown + batch->length + 1, text, length);
    batch->length += length + 1;
}

static void send_later(struct channel *channel, enum outgoing kind, const char *text, size_t length, enum rpc_code code)
{
    struct batch *batch = (struct batch *)channel;

    if (kind == OUTGOING_NOTICE || kind == OUTGOING_PROGRESS) {
        batch->parent->send(batch->parent, kind, text, length, code);
        return;
    }
    pthread_mutex_lock(&batch->lock);
    add(batch, text, length);
    pthread_mutex_unlock(&batch->lock);
}

static void finish(struct channel *channel)
{
    struct batch *batch = (struct batch *)channel;

    if (batch->length) {
        batch->answers[batch->length++] = ']'; /* add() left room for it */
        batch->parent->send(batch->parent, OUTGOING_RESULT, batch->answers, batch->length, RPC_OK);
    }
    channel_release(batch->parent);
    pthread_mutex_destroy(&batch->lock);
    free(batch->answers);
    free(batch);
}

struct channel *batch_channel_new(struct channel *parent)
{
    struct batch *batch = calloc(1, sizeof(*batch));

    if (!batch)
        return NULL;
    batch->channel = (struct channel){.peer = parent->peer, .send = send_later, .destroy = finish, .references = 1};
    batch->parent = channel_hold(parent);
    pthread_mutex_init(&batch->lock, NULL);
    return &batch->channel;
}

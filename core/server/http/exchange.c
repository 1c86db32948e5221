#include "server/http/exchange.h"

#include <errno.h>
#include <poll.h>
#include <sandlot/provider.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void free_exchange(struct exchange *exchange)
{
    while (exchange->first) {
        struct outgoing_text *text = exchange->first;

        exchange->first = text->next;
        free(text);
    }
    if (exchange->wake_fd >= 0)
        close(exchange->wake_fd);
    pthread_mutex_destroy(&exchange->lock);
    http_fields_clear(&exchange->fields);
    free(exchange->frame);
    free(exchange->body);
    free(exchange);
}

/* With the lock held, which is given back. */
static void drop(struct exchange *exchange)
{
    bool last = --exchange->holders == 0;

    pthread_mutex_unlock(&exchange->lock);
    if (last)
        free_exchange(exchange);
}

/* With the lock held. */
static void wake(const struct exchange *exchange)
{
    static const uint64_t one = 1;

    if (exchange->wake_fd < 0)
        return;
    while (write(exchange->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
        continue;
}

/* ---- the server's side ------------------------------------------------------------------------------------------- */

static void send_later(struct channel *channel, enum outgoing kind, const char *text, size_t length, enum rpc_code code)
{
    struct exchange *exchange = (struct exchange *)channel;
    struct outgoing_text *item = malloc(sizeof(*item) + length);
    bool answer = kind == OUTGOING_ANSWER || kind == OUTGOING_RESULT;

    pthread_mutex_lock(&exchange->lock);
    bool wanted = item && !exchange->closed && !(kind == OUTGOING_PROGRESS && exchange->first);

    if (wanted) {
        *item = (struct outgoing_text){.length = length};
        memcpy(item->text, text, length);
        *exchange->last = item;
        exchange->last = &item->next;
        exchange->answered = exchange->answered || answer;
        exchange->code = answer ? code : exchange->code;
        wake(exchange);
    }
    pthread_mutex_unlock(&exchange->lock);
    if (!wanted)
        free(item);
}

/* The server has let go of the channel. */
static void end_channel(struct channel *channel)
{
    struct exchange *exchange = (struct exchange *)channel;

    pthread_mutex_lock(&exchange->lock);
    exchange->over = true;
    wake(exchange);
    drop(exchange);
}

struct exchange *exchange_new(struct peer *peer)
{
    struct exchange *exchange = calloc(1, sizeof(*exchange));

    if (!exchange)
        return NULL;
    exchange->channel = (struct channel){.peer = peer, .send = send_later, .destroy = end_channel, .references = 1};
    pthread_mutex_init(&exchange->lock, NULL);
    exchange->holders = 2;
    exchange->last = &exchange->first;
    exchange->wake_fd = -1;
    return exchange;
}

/* ---- the connection's side --------------------------------------------------------------------------------------- */

void exchange_close(struct exchange *exchange)
{
    pthread_mutex_lock(&exchange->lock);
    exchange->closed = true;
    /* Nobody waits any more, while the call may go on for long. */
    if (exchange->wake_fd >= 0)
        close(exchange->wake_fd);
    exchange->wake_fd = -1;
    drop(exchange);
}

bool exchange_add_body(struct exchange *exchange, const char *bytes, size_t length)
{
    size_t needed = exchange->body_length + length;

    if (needed > exchange->body_room) {
        size_t room = needed < 4096 ? 4096 : needed + needed / 2;
        char *grown = realloc(exchange->body, room);

        if (!grown)
            return false;
        exchange->body = grown;
        exchange->body_room = room;
    }
    memcpy(exchange->body + exchange->body_length, bytes, length);
    exchange->body_length = needed;
    return true;
}

enum exchange_state exchange_state(struct exchange *exchange)
{
    enum exchange_state state = EXCHANGE_WAITING;

    pthread_mutex_lock(&exchange->lock);
    if (exchange->first)
        state = exchange->answered && !exchange->first->next ? EXCHANGE_ANSWERED : EXCHANGE_TALKING;
    else if (exchange->over || exchange->answered)
        state = EXCHANGE_OVER;
    pthread_mutex_unlock(&exchange->lock);
    return state;
}

bool exchange_is_settled(struct exchange *exchange)
{
    pthread_mutex_lock(&exchange->lock);
    bool settled = exchange->answered || exchange->over;

    pthread_mutex_unlock(&exchange->lock);
    return settled;
}

/* False: there is no descriptor to be woken by. */
static bool prepare(struct exchange *exchange, bool *news)
{
    pthread_mutex_lock(&exchange->lock);
    *news = exchange->first || exchange->over || exchange->answered;
    if (!*news && exchange->wake_fd < 0)
        exchange->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    bool ready = *news || exchange->wake_fd >= 0;

    pthread_mutex_unlock(&exchange->lock);
    return ready;
}

enum exchange_event exchange_wait(struct exchange *exchange, int fd, int timeout_ms)
{
    int64_t until_ms = sandlot_now_ms() + timeout_ms;
    bool news;

    if (!prepare(exchange, &news))
        return EXCHANGE_GONE;
    while (!news) {
        /* The end of a stream is noticed while nothing is sent, too. */
        struct pollfd fds[] = {{exchange->wake_fd, POLLIN, 0}, {fd, POLLRDHUP, 0}};
        int64_t left_ms = until_ms - sandlot_now_ms();
        uint64_t count;

        if (left_ms <= 0)
            return EXCHANGE_TIME;
        if (poll(fds, 2, (int)left_ms) <= 0)
            continue;
        if (fds[1].revents)
            return EXCHANGE_GONE;
        if (read(exchange->wake_fd, &count, sizeof(count)) == (ssize_t)sizeof(count))
            news = true;
    }
    return EXCHANGE_NEWS;
}

struct outgoing_text *exchange_take(struct exchange *exchange)
{
    pthread_mutex_lock(&exchange->lock);
    struct outgoing_text *item = exchange->first;

    if (item) {
        exchange->first = item->next;
        if (!exchange->first)
            exchange->last = &exchange->first;
    }
    pthread_mutex_unlock(&exchange->lock);
    return item;
}

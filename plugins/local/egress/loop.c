/* The loop: orders of the keeper, addresses of names, and the deadlines of all. */
#include "../protocol.h"
#include "egress.h"

#include <errno.h>
#include <sandlot/provider.h>
#include <sandlot/sdk/cleanup.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

enum { EVENTS = 32, ANSWER_MS = 1000 };

/* ---- connections ---- */

static void free_connection(struct connection *connection)
{
    for (size_t i = 0; i < SIDES; i++) {
        stream_drop_head(&connection->streams[i]);
        free(connection->streams[i].bytes);
    }
    free(connection->addresses);
    free(connection);
}

static void free_ended(struct egress *egress)
{
    for (struct connection **at = &egress->connections; *at;) {
        struct connection *connection = *at;

        if (!connection->over) {
            at = &connection->next;
            continue;
        }
        *at = connection->next;
        egress->count--;
        free_connection(connection);
    }
}

/* ---- orders ---- */

/* The first line is the box's name, what follows its policy. */
static bool take_policy(struct egress *egress, const char *text)
{
    const char *end = strchr(text, '\n');
    struct policy policy;

    if (!end || end - text >= BOX_NAME_SIZE || !policy_read(end + 1, &policy))
        return false;
    snprintf(egress->box, sizeof(egress->box), "%.*s", (int)(end - text), text);
    policy_clear(&egress->policy);
    egress->policy = policy;
    for (struct connection *connection = egress->connections; connection; connection = connection->next) {
        if (connection->over || connection_fits(connection, &policy))
            continue;
        connection->allowed = false;
        snprintf(connection->reason, sizeof(connection->reason), "cut: the list was changed");
        connection_end(connection);
    }
    return true;
}

/* Takes the sockets that come with a policy: with the first the proxy's listener, with each all of the gate. */
static void take_sockets(struct egress *egress, struct received *message)
{
    int fds[LISTENERS];
    size_t count = 0;

    for (size_t i = 0; i < message->fd_count; i++)
        fds[count++] = received_take_fd(message, i);
    const bool first = egress->listener_count == 0 && count > 0;

    if (first)
        egress_listen(egress, fds[0], LISTENER_PROXY);
    gate_replace(egress, fds + first, count - first);
}

static void obey(struct egress *egress)
{
    struct received message;
    const enum protocol_result result = protocol_receive(egress->control_fd, &message, 0, -1);

    if (result == PROTOCOL_TIMEOUT)
        return;
    if (result != PROTOCOL_OK)
        _exit(0);
    take_sockets(egress, &message);
    const bool fine =
        message.header.kind == MESSAGE_NETWORK && egress->listener_count > 0 && take_policy(egress, message.body);

    received_clear(&message);
    /* What it does not understand ends it, and with it every way out. */
    if (!fine)
        _exit(1);
    protocol_send(egress->control_fd, MESSAGE_DONE, NULL, 0, NULL, 0, egress_now_ms() + ANSWER_MS);
    if (!egress->ready) {
        egress->ready = true;
        egress_watch_listeners(egress, true);
    }
}

/* Gives the answer to the one who asked, if he is still there. */
static void hand_over(const struct egress *egress, const struct resolve_answer *answer)
{
    struct connection *connection = egress->connections;

    while (connection && (connection->over || connection->query != answer->query || connection->addresses))
        connection = connection->next;
    if (!connection)
        return;
    connection->addresses = malloc(sizeof(*answer));
    if (!connection->addresses) {
        connection_end(connection);
        return;
    }
    memcpy(connection->addresses, answer, sizeof(*answer));
    connection_advance(connection);
}

static void take_addresses(struct egress *egress)
{
    struct resolve_answer answer;
    int taken;

    while ((taken = resolve_take(egress->resolver_fd, &answer)) > 0) {
        egress->asked -= egress->asked > 0; /* a child that is killed as it answers may have been answered for */
        hand_over(egress, &answer);
    }
    if (taken < 0)
        _exit(1);
    /* Those that had to wait to ask. */
    for (struct connection *connection = egress->connections; connection; connection = connection->next)
        if (!connection->over && connection->filter == FILTER_RESOLVE && !connection->query)
            connection_advance(connection);
}

/* ---- the loop ---- */

/* Ends what is late; how long to wait for the next. */
static int look_at_deadlines(const struct egress *egress)
{
    const int64_t now_ms = egress_now_ms();
    int64_t next_ms = INT64_MAX;

    for (struct connection *connection = egress->connections; connection; connection = connection->next) {
        if (!connection->over && now_ms >= connection->deadline_ms)
            connection_late(connection);
        if (!connection->over && connection->deadline_ms < next_ms)
            next_ms = connection->again ? now_ms : connection->deadline_ms;
    }
    return next_ms == INT64_MAX ? -1 : next_ms <= now_ms ? 0 : (int)(next_ms - now_ms);
}

static void go_on(const struct egress *egress)
{
    for (struct connection *connection = egress->connections; connection; connection = connection->next)
        if (!connection->over && connection->again) {
            connection->again = false;
            connection_advance(connection);
        }
}

static void handle(struct egress *egress, struct source *source)
{
    switch (source->kind) {
    case SOURCE_CONTROL:
        obey(egress);
        break;
    case SOURCE_LISTENER:
        egress_accept(egress, (struct listener *)(void *)source);
        break;
    case SOURCE_NAMES:
        gate_answer(egress);
        break;
    case SOURCE_RESOLVER:
        take_addresses(egress);
        break;
    case SOURCE_END:
        connection_advance(((struct end *)(void *)source)->connection);
        break;
    }
}

static bool add_source(const struct egress *egress, int fd, struct source *source)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};

    return epoll_ctl(egress->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

void egress_run(struct egress *egress)
{
    struct epoll_event events[EVENTS];

    egress->control = (struct source){SOURCE_CONTROL};
    egress->names = (struct source){SOURCE_NAMES};
    egress->resolver = (struct source){SOURCE_RESOLVER};
    if (!add_source(egress, egress->control_fd, &egress->control) ||
        !add_source(egress, egress->resolver_fd, &egress->resolver))
        return;
    for (;;) {
        const int wait_ms = look_at_deadlines(egress);
        const int count = epoll_wait(egress->epoll_fd, events, EVENTS, wait_ms);

        if (count < 0 && errno != EINTR)
            return;
        for (int i = 0; i < count; i++)
            handle(egress, events[i].data.ptr);
        go_on(egress);
        free_ended(egress);
        if (egress->ready && !egress_watch_listeners(egress, egress->count < CONNECTIONS))
            return;
    }
}

/* Forwarding: a port here, and for each connection to it one to a server in the sandbox. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sized.h"
#include "operations/forward_connection.h"
#include "operations/listener.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_LEAST SIZED_UP_TO(struct sandlot_forward_request, context)

enum {
    CONNECTIONS = 256,
    ROOT_MS = 30 * 1000,
    FULL_PAUSE_MS = 200 /* when this process can have no more descriptors or threads */
};

struct sandlot_forward {
    struct forward_work work;
    struct listener listener;
    struct session_root *root; /* tells that the sandbox has ended; NULL: it is found out by the next connection */
    pthread_t thread;
    size_t live;
    struct forward_connection connections[CONNECTIONS];
};

/* ---- connections ------------------------------------------------------------------------------------------------- */

static void join_ended(struct sandlot_forward *forward)
{
    uint64_t count;

    if (read(forward->work.ended_fd, &count, sizeof(count)) < 0)
        return;
    for (size_t i = 0; i < CONNECTIONS; i++) {
        struct forward_connection *connection = &forward->connections[i];

        if (!connection->used || !atomic_load(&connection->ended))
            continue;
        pthread_join(connection->thread, NULL);
        connection->used = false;
        forward->live--;
    }
}

/* Begins with one that has come. False: there is no room for it in this process at the moment. */
static bool accept_one(struct sandlot_forward *forward, int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    size_t place = 0;

    if (fd < 0)
        return errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != ENOBUFS;
    while (forward->connections[place].used)
        place++;
    if (!forward_connection_start(&forward->connections[place], &forward->work, fd))
        return false;
    forward->live++;
    return true;
}

enum { POLL_STOP, POLL_ENDED, POLL_ALIVE, POLL_LISTENERS, POLL_COUNT = POLL_LISTENERS + LISTENER_SOCKETS };

static void fill_poll(const struct sandlot_forward *forward, bool alive, bool pause, struct pollfd fds[POLL_COUNT])
{
    const struct forward_work *work = &forward->work;
    bool accepts = forward->live < CONNECTIONS && !pause;

    fds[POLL_STOP] = (struct pollfd){cancellation_fd(work->stop), POLLIN, 0};
    fds[POLL_ENDED] = (struct pollfd){work->ended_fd, POLLIN, 0};
    fds[POLL_ALIVE] = (struct pollfd){alive && forward->root ? forward->root->alive_fd : -1, POLLIN, 0};
    for (size_t i = 0; i < LISTENER_SOCKETS; i++)
        fds[POLL_LISTENERS + i] = (struct pollfd){accepts ? forward->listener.fds[i] : -1, POLLIN, 0};
}

static void *serve(void *argument)
{
    struct sandlot_forward *forward = argument;
    struct pollfd fds[POLL_COUNT];
    bool alive = true;
    bool pause = false;

    for (;;) {
        fill_poll(forward, alive, pause, fds);
        int ready = poll(fds, POLL_COUNT, pause ? FULL_PAUSE_MS : -1);

        pause = false;
        if (ready <= 0)
            continue;
        if (fds[POLL_STOP].revents)
            return NULL;
        if (fds[POLL_ENDED].revents)
            join_ended(forward);
        if (fds[POLL_ALIVE].revents) {
            alive = false;
            forward_ring(forward->work.gone_fd);
        }
        for (size_t i = POLL_LISTENERS; i < POLL_COUNT && forward->live < CONNECTIONS; i++)
            if (fds[i].revents && !accept_one(forward, fds[i].fd))
                pause = true;
    }
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void free_forward(struct sandlot_forward *forward)
{
    listener_close(&forward->listener);
    if (forward->root)
        session_root_give_back(forward->work.session, forward->root);
    if (forward->work.ended_fd >= 0)
        close(forward->work.ended_fd);
    if (forward->work.gone_fd >= 0)
        close(forward->work.gone_fd);
    sandlot_cancellation_free(forward->work.stop);
    free(forward);
}

/* What the request names is the caller's, and not needed any more once it listens. */
static struct sandlot_forward *new_forward(struct sandlot_session *session,
                                           const struct sandlot_forward_request *request, struct sandlot_error *error)
{
    struct sandlot_forward *forward = calloc(1, sizeof(*forward));

    if (!forward) {
        error_no_memory(error);
        return NULL;
    }
    forward->listener = (struct listener){.fds = {-1, -1}};
    forward->work = (struct forward_work){.session = session,
                                          .request = *request,
                                          .stop = sandlot_cancellation_new(),
                                          .ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                                          .gone_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (forward->work.stop && forward->work.ended_fd >= 0 && forward->work.gone_fd >= 0)
        return forward;
    free_forward(forward);
    error_set(error, SANDLOT_CODE_QUOTA, "no port can be forwarded: this process has as many files open as it may");
    return NULL;
}

/* The sandbox's root, where there is one, is a witness that it lives. */
static int begin(struct sandlot_forward *forward, struct sandlot_error *error)
{
    struct sandlot_session *session = forward->work.session;
    struct sandlot_error ignored = {0};
    const int stop_fd = cancellation_fd(forward->work.stop);
    int64_t deadline_ms = sandlot_now_ms() + ROOT_MS;

    if (session_has_root(session, deadline_ms, stop_fd, &ignored) == 1)
        forward->root = session_root_take(session, deadline_ms, stop_fd, &ignored);
    sandlot_error_clear(&ignored);
    if (pthread_create(&forward->thread, NULL, serve, forward) != 0)
        return error_set(error, SANDLOT_CODE_QUOTA, "no port can be forwarded: no thread can be started");
    return 0;
}

struct sandlot_forward *sandlot_forward_open(struct sandlot_session *session,
                                             const struct sandlot_forward_request *request, struct sandlot_error *error)
{
    struct sandlot_forward_request own;

    if (sized_read(&own, sizeof(own), request, REQUEST_LEAST, "sandlot_forward_request", error) < 0 ||
        session_check_ports(session->sandlot, session->provider->entry->name,
                            provider_capabilities(&session->provider->table), false, error) < 0)
        return NULL;
    if (own.port == 0) {
        error_set(error, SANDLOT_CODE_USAGE, "a port of a sandbox is a number from 1 to 65535");
        return NULL;
    }
    struct sandlot_forward *forward = new_forward(session, &own, error);

    if (!forward)
        return NULL;
    if (listener_open(&forward->listener, own.address, own.local_port, error) == 0 && begin(forward, error) == 0)
        return forward;
    free_forward(forward);
    return NULL;
}

uint16_t sandlot_forward_port(const struct sandlot_forward *forward)
{
    return forward->listener.port;
}

int sandlot_forward_descriptor(const struct sandlot_forward *forward)
{
    return forward->work.gone_fd;
}

void sandlot_forward_close(struct sandlot_forward *forward)
{
    if (!forward)
        return;
    sandlot_cancel(forward->work.stop);
    pthread_join(forward->thread, NULL);
    for (size_t i = 0; i < CONNECTIONS; i++)
        if (forward->connections[i].used)
            pthread_join(forward->connections[i].thread, NULL);
    free_forward(forward);
}

/*
 * A socket belongs for good to the network namespace in which it was made, whoever has it. So init makes one and hands
 * it out, and connecting it here reaches the box's own loopback: the box gets no interface, no process and nothing that
 * it could reach by itself.
 */
#include "port.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

enum { CHUNK = 64 * 1024, SOCKET_LIMIT_MS = 10000, CONNECT_LIMIT_MS = 30000 };

/* ---- a socket of the box ---- */

/* The box is a stranger: what it sends as a socket has to be one that is good for nothing else. */
static bool is_tcp(int fd, int family)
{
    int domain = 0;
    int protocol = 0;
    socklen_t length = sizeof(int);

    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == family &&
           getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) == 0 && protocol == IPPROTO_TCP &&
           fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) == 0;
}

static int take_socket(struct sandlot_call *call, struct received *reply, int family, enum sandlot_status *status)
{
    if (reply->header.kind == MESSAGE_FAILED) {
        *status = client_failure(call, reply);
        return -1;
    }
    AUTO_CLOSE int fd = reply->header.kind == MESSAGE_SOCKET_IS ? received_take_fd(reply, 0) : -1;

    if (fd >= 0 && is_tcp(fd, family))
        return take_fd(&fd);
    *status = sandlot_fail(call, SANDLOT_INTERNAL,
                           "the sandbox gave something else than a socket; delete it and create another");
    return -1;
}

/* One of FAMILY. The box counts as in use until the other end of USE is closed (-1: no need). -1 with *STATUS. */
static int ask_for_socket(struct sandbox *sandbox, struct sandlot_call *call, int family, int use,
                          enum sandlot_status *status)
{
    const uint32_t body = (uint32_t)family;
    int64_t deadline_ms = sandlot_now_ms() + sandlot_remaining_ms(call, SOCKET_LIMIT_MS);
    AUTO_CLOSE int connection = sandbox_connect(sandbox, call, status);
    struct received reply;

    if (connection < 0)
        return -1;
    enum protocol_result result =
        protocol_send(connection, MESSAGE_SOCKET, &body, sizeof(body), &use, use >= 0 ? 1 : 0, deadline_ms);

    if (result == PROTOCOL_OK)
        result = protocol_receive(connection, &reply, deadline_ms, call->cancel_fd);
    if (result != PROTOCOL_OK) {
        *status = result == PROTOCOL_CLOSED ? sandbox_ended(sandbox, call) : client_broken(call, result, "the sandbox");
        return -1;
    }
    int fd = take_socket(call, &reply, family, status);

    received_clear(&reply);
    sandbox_give_back(sandbox, take_fd(&connection));
    return fd;
}

/* ---- connecting ---- */

static int connect_loopback(int fd, int family, uint16_t port)
{
    const struct sockaddr_in four = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct sockaddr_in6 six = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};

    return family == AF_INET ? connect(fd, (const struct sockaddr *)&four, sizeof(four))
                             : connect(fd, (const struct sockaddr *)&six, sizeof(six));
}

/* Waits until FD is connected. 0, or what the kernel says: ETIMEDOUT if it was not in time, ECANCELED. */
static int wait_until_connected(const struct sandlot_call *call, int fd)
{
    struct pollfd fds[2] = {{fd, POLLOUT, 0}, {call->cancel_fd, POLLIN, 0}};
    const int ready = poll(fds, 2, sandlot_remaining_ms(call, CONNECT_LIMIT_MS));
    int reason = 0;
    socklen_t length = sizeof(reason);

    if (fds[1].revents)
        return ECANCELED;
    if (ready <= 0)
        return ETIMEDOUT;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &reason, &length) < 0 ? errno : reason;
}

/* -1 with *STATUS; SANDLOT_UNAVAILABLE, untold: nothing listens there. */
static int connect_by(struct sandbox *sandbox, struct sandlot_call *call, int family, uint16_t port, int use,
                      enum sandlot_status *status)
{
    AUTO_CLOSE int fd = ask_for_socket(sandbox, call, family, use, status);
    int reason = 0;

    if (fd < 0)
        return -1;
    if (connect_loopback(fd, family, port) < 0)
        reason = errno == EINPROGRESS ? wait_until_connected(call, fd) : errno;
    if (reason == 0)
        return take_fd(&fd);
    *status = SANDLOT_UNAVAILABLE;
    if (reason == ECANCELED)
        *status = sandlot_fail(call, SANDLOT_CANCELLED, "the connection was cancelled");
    else if (reason == ETIMEDOUT)
        *status = sandlot_fail(call, SANDLOT_TIMEOUT,
                               "the server on port %u does not accept the connection; see whether it hangs", port);
    return -1;
}

static int connect_server(struct sandbox *sandbox, struct sandlot_call *call, uint16_t port, int use,
                          enum sandlot_status *status)
{
    int fd = connect_by(sandbox, call, AF_INET, port, use, status);

    if (fd < 0 && *status == SANDLOT_UNAVAILABLE)
        fd = connect_by(sandbox, call, AF_INET6, port, -1, status);
    if (fd < 0 && *status == SANDLOT_UNAVAILABLE)
        sandlot_fail(call, SANDLOT_UNAVAILABLE, "nothing listens on port %u in the sandbox; start the server first",
                     port);
    return fd;
}

/* ---- what goes through ---- */

struct traffic {
    const struct sandlot_connection *connection;
    struct sandlot_call *call;
    int fd;
    size_t at; /* of the input: LENGTH bytes from AT on are to be sent */
    size_t length;
    uint64_t handed; /* bytes of the output */
    bool input_ended;
    bool output_ended;
    bool broken;   /* whoever has ended it: there is nobody to tell */
    bool threaded; /* the output has a thread of its own */
    int over_fd;   /* then readable once nobody takes the output any more; else -1 */
    pthread_t thread;
    char input[CHUNK];
    char output[CHUNK];
};

/* Hands out what the server has sent. False: no more will come; *ENDED: the server has closed its side, and that is
 * told. */
static bool pass_output(struct traffic *traffic, bool *ended)
{
    const struct sandlot_connection *connection = traffic->connection;
    const struct sandlot_sink *output = connection->output;
    ssize_t got = recv(traffic->fd, traffic->output, sizeof(traffic->output), 0);

    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    *ended = got == 0 && SANDLOT_HAS(connection, closed) && connection->closed;
    if (*ended)
        connection->closed(connection);
    traffic->handed += (uint64_t)got;
    return got > 0 && output->write(output, traffic->output, (size_t)got) == SANDLOT_OK;
}

static void *carry_output(void *argument)
{
    struct traffic *traffic = argument;
    struct pollfd fds[2] = {{traffic->fd, POLLIN, 0}, {traffic->call->cancel_fd, POLLIN, 0}};
    bool ended = false;

    do
        poll(fds, 2, -1);
    while (!fds[1].revents && pass_output(traffic, &ended));
    if (!ended)
        eventfd_write(traffic->over_fd, 1);
    return NULL;
}

/* A client may send all that it has before it reads, and whoever writes to it waits until then: where there is more
 * than it takes unread, that gets a thread, if there is one. */
static void split(struct traffic *traffic)
{
    traffic->over_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    traffic->threaded = traffic->over_fd >= 0 && pthread_create(&traffic->thread, NULL, carry_output, traffic) == 0;
}

static void read_output(struct traffic *traffic)
{
    bool ended = false;

    if (!pass_output(traffic, &ended)) {
        traffic->output_ended = ended;
        traffic->broken = !ended;
    } else if (traffic->handed >= CHUNK && !traffic->input_ended && traffic->over_fd < 0)
        split(traffic);
}

static void read_input(struct traffic *traffic)
{
    const struct sandlot_source *source = traffic->connection->input;

    traffic->at = 0;
    traffic->length = 0;
    if (source->read(source, traffic->input, sizeof(traffic->input), &traffic->length) != SANDLOT_OK) {
        traffic->broken = true;
        shutdown(traffic->fd, SHUT_RDWR);
    } else if (traffic->length == 0) {
        traffic->input_ended = true;
        shutdown(traffic->fd, SHUT_WR);
    }
}

static void send_input(struct traffic *traffic)
{
    ssize_t sent = send(traffic->fd, traffic->input + traffic->at, traffic->length, MSG_NOSIGNAL);

    if (sent < 0 && errno != EAGAIN && errno != EINTR)
        traffic->broken = true;
    if (sent <= 0)
        return;
    traffic->at += (size_t)sent;
    traffic->length -= (size_t)sent;
}

enum { POLL_SERVER, POLL_CANCEL, POLL_OVER, POLL_INPUT, POLL_COUNT };

/* One look at what there is to do. */
static void turn(struct traffic *traffic)
{
    const struct sandlot_source *input = traffic->connection->input;
    const bool reads = !traffic->input_ended && traffic->length == 0;
    const bool sends_only = traffic->output_ended || traffic->threaded;
    const short wanted = (short)((sends_only ? 0 : POLLIN) | (traffic->length ? POLLOUT : 0));
    struct pollfd fds[POLL_COUNT] = {{traffic->fd, wanted, 0},
                                     {traffic->call->cancel_fd, POLLIN, 0},
                                     {traffic->threaded ? traffic->over_fd : -1, POLLIN, 0},
                                     {reads ? input->poll_fd : -1, POLLIN, 0}};

    if (poll(fds, POLL_COUNT, -1) < 0)
        return;
    /* When both sides have ended, or it was broken off, nobody takes the input any more. */
    if (fds[POLL_CANCEL].revents || fds[POLL_OVER].revents ||
        (sends_only && fds[POLL_SERVER].revents & (POLLHUP | POLLERR)))
        traffic->broken = true;
    if (fds[POLL_SERVER].revents & ~POLLOUT && !sends_only)
        read_output(traffic);
    if (fds[POLL_SERVER].revents & POLLOUT && !traffic->broken)
        send_input(traffic);
    if (fds[POLL_INPUT].revents && !traffic->broken)
        read_input(traffic);
}

static enum sandlot_status carry(struct sandlot_call *call, const struct sandlot_connection *connection, int fd)
{
    AUTO_FREE struct traffic *traffic = calloc(1, sizeof(*traffic));

    if (!traffic)
        return sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    traffic->connection = connection;
    traffic->call = call;
    traffic->fd = fd;
    traffic->over_fd = -1;
    connection->opened(connection);
    while (!traffic->broken && !(traffic->input_ended && (traffic->output_ended || traffic->threaded)))
        turn(traffic);
    /* What the server sent before it broke off is still handed out. */
    if (traffic->threaded)
        pthread_join(traffic->thread, NULL);
    if (traffic->over_fd >= 0)
        close(traffic->over_fd);
    return sandlot_cancelled(call) ? sandlot_fail(call, SANDLOT_CANCELLED, "the connection was cancelled") : SANDLOT_OK;
}

enum sandlot_status port_connect(struct sandbox *sandbox, struct sandlot_call *call,
                                 const struct sandlot_connection *connection)
{
    enum sandlot_status status = SANDLOT_OK;
    int use[2];

    if (connection->input->poll_fd < 0)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "the input of a connection must have a descriptor to wait for; give it one");
    if (pipe2(use, O_CLOEXEC) < 0)
        return sandlot_fail(call, SANDLOT_EXHAUSTED, "the port cannot be reached: %s; raise the limit (ulimit -n)",
                            strerror(errno));
    AUTO_CLOSE int in_use = use[1];
    AUTO_CLOSE int fd = connect_server(sandbox, call, connection->port, use[0], &status);

    close(use[0]);
    return fd < 0 ? status : carry(call, connection, fd);
}

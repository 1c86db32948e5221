/* The sockets that connections of the box come to, and the first of each connection: where it wants to go. */
#include "egress.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sandlot/sdk/cleanup.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ACCEPTS = 16 /* before the others have their turn */ };

/* The address that was dialled is the socket's own. */
static bool dialled(int fd, address *value, uint16_t *port)
{
    struct sockaddr_in6 here = {.sin6_family = AF_UNSPEC};
    socklen_t size = sizeof(here);
    struct sockaddr_in old;

    if (getsockname(fd, (struct sockaddr *)&here, &size) < 0)
        return false;
    *port = ntohs(here.sin6_port); /* at the same place in both */
    *value = here.sin6_addr;
    if (here.sin6_family != AF_INET)
        return here.sin6_family == AF_INET6;
    memcpy(&old, &here, sizeof(old));
    *value = (address){0};
    memset(value->s6_addr + 10, 0xff, 2);
    memcpy(value->s6_addr + 12, &old.sin_addr, sizeof(old.sin_addr));
    return true;
}

/* Finds out where a connection to a port of the gate wants to go. False: that cannot be told. */
static bool find_target(const struct egress *egress, int fd, struct target *target)
{
    address value;

    *target = (struct target){.tunnel = true};
    if (!dialled(fd, &value, &target->port))
        return false;
    const struct host *name = aliases_find(&egress->aliases, &value);

    if (name) {
        target->host = *name;
        return true;
    }
    target->host.is_address = true;
    target->host.address = value;
    address_format(&value, target->host.name);
    return true;
}

/* Where the chain begins for who comes to a listener of KIND. */
static size_t first_filter(struct egress *egress, struct connection *connection, enum listener_kind kind)
{
    if (kind != LISTENER_DIRECT)
        return kind == LISTENER_PROXY ? FILTER_HEAD : FILTER_NAMES;
    connection->direct = connection->greeted = true;
    return find_target(egress, connection->ends[SIDE_BOX].fd, &connection->target) ? FILTER_DECIDE : FILTERS;
}

static void add_connection(struct egress *egress, int fd, enum listener_kind kind)
{
    struct connection *connection = calloc(1, sizeof(*connection));
    const int one = 1;

    if (!connection) {
        close(fd);
        return;
    }
    connection->next = egress->connections;
    connection->egress = egress;
    connection->started_ms = egress_now_ms();
    for (size_t i = 0; i < SIDES; i++)
        connection->ends[i] = (struct end){{SOURCE_END}, connection, i == SIDE_BOX ? fd : -1, 0, 0};
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    egress->connections = connection;
    egress->count++;
    const size_t filter = first_filter(egress, connection, kind);

    if (filter < FILTERS)
        connection_begin(connection, filter);
    else
        connection_end(connection);
}

static bool watch_listener(const struct egress *egress, struct listener *listener, bool watch)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &listener->source};

    return epoll_ctl(egress->epoll_fd, watch ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, listener->fd, &event) == 0;
}

bool egress_watch_listeners(struct egress *egress, bool watch)
{
    bool fine = true;

    if (watch == egress->listening)
        return true;
    egress->listening = watch;
    for (size_t i = 0; i < egress->listener_count; i++)
        fine = watch_listener(egress, &egress->listeners[i], watch) && fine;
    return fine;
}

void egress_listen(struct egress *egress, int fd, enum listener_kind kind)
{
    struct listener *listener = &egress->listeners[egress->listener_count];

    if (egress->listener_count == LISTENERS) {
        close(fd);
        return;
    }
    *listener = (struct listener){{SOURCE_LISTENER}, kind, fd};
    egress->listener_count++;
    if (egress->listening)
        watch_listener(egress, listener, true);
}

void egress_accept(struct egress *egress, struct listener *listener)
{
    for (int i = 0; i < ACCEPTS && egress->count < CONNECTIONS; i++) {
        const int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0)
            return;
        add_connection(egress, fd, listener->kind);
    }
}

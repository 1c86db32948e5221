/* The filters that find a destination's addresses, leave out the forbidden ones, and connect to what is left. */
#include "connection.h"
#include "egress.h"
#include "stand_in.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <sandlot/sdk/cleanup.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { ATTEMPTS = 6 };

/* Keeps the addresses that may be dialled. The class of the last that may not, ADDRESS_PUBLIC if there is none. */
static enum address_class keep_admitted(struct connection *connection)
{
    struct resolve_answer *answer = connection->addresses;
    enum address_class forbidden = ADDRESS_PUBLIC;
    uint32_t kept = 0;

    for (size_t i = 0; i < answer->count; i++) {
        const address *value = &answer->addresses[i];
        const enum address_class class = resolve_is_own(answer, value) ? ADDRESS_OWN : address_class(value);

        if (policy_admits(&connection->egress->policy, value, class, connection->target.port))
            answer->addresses[kept++] = *value;
        else
            forbidden = class;
    }
    answer->count = kept < ATTEMPTS ? kept : ATTEMPTS;
    return forbidden;
}

static enum verdict judge_addresses(struct connection *connection)
{
    const struct resolve_answer *answer = connection->addresses;
    char reason[96];

    if (answer->count == 0)
        return connection_refuse(connection, "502 Bad Gateway", "its name does not resolve", "Check its spelling.");
    if (!answer->own_known)
        return connection_refuse(connection, "502 Bad Gateway", "the addresses of this machine are not known",
                                 "Try again.");
    const enum address_class forbidden = keep_admitted(connection);

    if (answer->count > 0)
        return VERDICT_NEXT;
    snprintf(reason, sizeof(reason), "%s%s",
             connection->target.host.is_address ? "" : "its address is forbidden: ", address_class_name(forbidden));
    return connection_refuse(connection, "403 Forbidden", reason,
                             "Such an address must be on the list itself, with its port.");
}

enum verdict filter_resolve(struct connection *connection)
{
    if (connection->addresses)
        return judge_addresses(connection);
    if (!connection->query && connection->egress->asked < RESOLVE_ASKED) {
        connection->query = ++connection->egress->queries;
        connection->egress->asked++;
        if (!resolve_ask(connection->egress->resolver_fd, connection->query, &connection->target.host))
            return connection_refuse(connection, "502 Bad Gateway", "names cannot be resolved", "Try again.");
    }
    return VERDICT_WAIT;
}

/* Begins to connect to the address that is due. False with errno. */
static bool start(struct connection *connection)
{
    struct end *outside = &connection->ends[SIDE_OUTSIDE];
    address value = connection->addresses->addresses[connection->address];
    uint16_t port = connection->target.port;
    const int one = 1;

    stand_in_dial(&value, &port);
    const bool four = address_is_version_4(&value);
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = value};
    struct sockaddr_in old = {.sin_family = AF_INET, .sin_port = htons(port)};

    memcpy(&old.sin_addr, value.s6_addr + 12, sizeof(old.sin_addr));
    outside->watched = 0;
    outside->fd = socket(four ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (outside->fd < 0)
        return false;
    setsockopt(outside->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    const int result = four ? connect(outside->fd, (struct sockaddr *)&old, sizeof(old))
                            : connect(outside->fd, (struct sockaddr *)&six, sizeof(six));

    return result == 0 || errno == EINPROGRESS;
}

bool dial_next(struct connection *connection)
{
    struct end *outside = &connection->ends[SIDE_OUTSIDE];

    if (outside->fd >= 0)
        close(take_fd(&outside->fd));
    return ++connection->address < connection->addresses->count;
}

enum verdict filter_dial(struct connection *connection)
{
    struct end *outside = &connection->ends[SIDE_OUTSIDE];
    char reason[96];
    int error;

    do {
        socklen_t length = sizeof(error);
        struct sockaddr_in6 peer;
        socklen_t peer_length = sizeof(peer);

        error = outside->fd < 0 && !start(connection) ? errno : 0;
        if (!error && getsockopt(outside->fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
            error = errno;
        if (!error && getpeername(outside->fd, (struct sockaddr *)&peer, &peer_length) == 0)
            return VERDICT_NEXT;
        if (!error) {
            outside->wanted = EPOLLOUT;
            return VERDICT_WAIT;
        }
    } while (dial_next(connection));
    snprintf(reason, sizeof(reason), "it cannot be reached: %s",
             error == ECONNREFUSED                           ? "connection refused"
             : error == ENETUNREACH || error == EHOSTUNREACH ? "no route"
                                                             : "no connection");
    return connection_refuse(connection, "502 Bad Gateway", reason, "Check that the service runs, then try again.");
}

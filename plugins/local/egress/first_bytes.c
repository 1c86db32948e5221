/*
 * The filter behind an open tunnel: what the box says first must be what belongs on that port, to that host. Nothing
 * of it has gone outside before.
 */
#include "connection.h"
#include "egress.h"
#include "hello.h"
#include "interceptor.h"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

/* Does the ClientHello name the host that was asked for? To an address clients name none. */
static bool is_for_host(const struct connection *connection, const char *name)
{
    const struct host *wanted = &connection->target.host;
    struct host named;

    if (!*name)
        return wanted->is_address;
    return host_parse(name, strlen(name), &named) && host_equals(&named, wanted);
}

static enum verdict take_hello(struct connection *connection)
{
    struct stream *box = &connection->streams[SIDE_BOX];
    char name[HELLO_NAME_SIZE];
    char reason[128];

    switch (hello_parse((const unsigned char *)box->bytes + box->at, box->length - box->at, name)) {
    case HELLO_MORE:
        if (box->ended)
            return VERDICT_END;
        connection->ends[SIDE_BOX].wanted |= EPOLLIN;
        return VERDICT_WAIT;
    case HELLO_BAD:
        return connection_refuse(connection, "", policy_tls_only, "");
    case HELLO_FINE:
        break;
    }
    if (is_for_host(connection, name))
        return VERDICT_NEXT;
    if (*name)
        snprintf(reason, sizeof(reason), "TLS names another server than the tunnel: %.80s", name);
    else
        snprintf(reason, sizeof(reason), "TLS names no server");
    for (char *at = reason; *at; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
    return connection_refuse(connection, "", reason, "");
}

/* Is this a tunnel to a host that something is added to? */
static bool is_opened(const struct connection *connection)
{
    const struct interceptor *interceptor = connection->egress->interceptor;

    return interceptor && interceptor->opens(connection->egress, &connection->target);
}

enum verdict filter_intercept(struct connection *connection)
{
    if (connection->http || !is_opened(connection))
        return VERDICT_NEXT;
    return connection->egress->interceptor->secure(connection);
}

static bool greet(struct connection *connection)
{
    struct stream *answer = &connection->streams[SIDE_OUTSIDE];

    if (!connection->greeted)
        answer->head = strdup("HTTP/1.1 200 Connection established\r\n\r\n");
    if (!answer->head && !connection->greeted)
        return false;
    if (!connection->greeted)
        answer->head_length = strlen(answer->head);
    connection->greeted = true;
    return connection_write(connection, SIDE_OUTSIDE);
}

enum verdict filter_first_bytes(struct connection *connection)
{
    const struct target within = connection->target;

    if (!connection->target.tunnel)
        return VERDICT_NEXT;
    if (!greet(connection))
        return VERDICT_END;
    if (connection_pending(connection, SIDE_OUTSIDE)) {
        connection->ends[SIDE_BOX].wanted = EPOLLOUT;
        return VERDICT_WAIT;
    }
    if ((connection->egress->policy.open && !is_opened(connection)) ||
        (within.port != PORT_HTTP && within.port != PORT_HTTPS))
        return VERDICT_NEXT;
    if (!connection_read(connection, SIDE_BOX))
        return VERDICT_END;
    return within.port == PORT_HTTPS ? take_hello(connection) : request_take(connection, &within);
}

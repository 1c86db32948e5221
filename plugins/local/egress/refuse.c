/* What is not allowed, or has failed: an answer that says why, where one is waited for. */
#include "connection.h"
#include "egress.h"
#include "interceptor.h"

#include <sandlot/sdk/cleanup.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* Has the box had its "200" already, or waits for none, so that what it waits for is no answer of HTTP? */
static bool is_tunnelling(const struct connection *connection)
{
    const bool asks = !connection->direct || connection->target.port == PORT_HTTP;

    return connection->target.tunnel && (connection->filter >= FILTER_FIRST_BYTES || !asks) && !connection->secured;
}

enum verdict connection_refuse(struct connection *connection, const char *status, const char *reason,
                               const char *advice)
{
    struct stream *answer = &connection->streams[SIDE_OUTSIDE];
    const char *name = connection->target.host.name;
    const bool brackets = strchr(name, ':');
    char text[1024];

    connection->allowed = false;
    snprintf(connection->reason, sizeof(connection->reason), "%s", reason);
    if (connection->ends[SIDE_OUTSIDE].fd >= 0)
        close(take_fd(&connection->ends[SIDE_OUTSIDE].fd));
    if (is_tunnelling(connection))
        return VERDICT_REFUSED;
    if (*name)
        snprintf(text, sizeof(text), "Sandlot refused %s%.253s%s:%u: %s. %s\n", brackets ? "[" : "", name,
                 brackets ? "]" : "", connection->target.port, reason, advice);
    else
        snprintf(text, sizeof(text), "Sandlot refused the request: %s. %s\n", reason, advice);
    stream_drop_head(answer);
    answer->at = answer->cleared = answer->taken = answer->length = 0;
    const int length = asprintf(&answer->head,
                                "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n"
                                "Connection: close\r\n\r\n%s",
                                status, strlen(text), text);

    answer->head = length < 0 ? NULL : answer->head;
    answer->head_length = length < 0 ? 0 : (size_t)length;
    return VERDICT_REFUSED;
}

enum verdict filter_refuse(struct connection *connection)
{
    struct stream *box = &connection->streams[SIDE_BOX];

    if (!connection_write(connection, SIDE_OUTSIDE))
        return VERDICT_END;
    if (connection_pending(connection, SIDE_OUTSIDE)) {
        connection->ends[SIDE_BOX].wanted = EPOLLOUT;
        return VERDICT_WAIT;
    }
    if (!connection->streams[SIDE_OUTSIDE].shut && connection->secured)
        connection->egress->interceptor->finish(connection, SIDE_BOX);
    if (!connection->streams[SIDE_OUTSIDE].shut)
        shutdown(connection->ends[SIDE_BOX].fd, SHUT_WR);
    connection->streams[SIDE_OUTSIDE].shut = true;
    /* To close with something unread would take the answer away from the one who is still sending. */
    box->at = box->cleared = box->taken = box->length = 0;
    if (!connection_read(connection, SIDE_BOX) || box->ended)
        return VERDICT_END;
    connection->ends[SIDE_BOX].wanted = EPOLLIN;
    return VERDICT_WAIT;
}

#include "connection.h"
#include "egress.h"
#include "interceptor.h"
#include "stand_in.h"

#include <sandlot/sdk/cleanup.h>
#include <stdio.h>
#include <sys/epoll.h>

/* The chain: a connection begins at the top, one that is no request to a proxy with the decision. The last is for
 * questions for names alone. */
static const struct filter filters[] = {
    {"head", 10000, filter_read_head, "the request did not come in time"},
    {"decide", 1000, filter_decide, ""},
    {"resolve", RESOLVE_LIMIT_MS + 2000, filter_resolve, "its name was not resolved in time"},
    {"dial", 6000, filter_dial, "it did not accept the connection in time"},
    {"first bytes", 20000, filter_first_bytes, "the first bytes did not come in time"},
    {"intercept", 20000, filter_intercept, "TLS was not agreed on in time"},
    {"request", 60000, filter_request, "the request did not come in time"},
    {"copy", 900000, filter_copy, "nothing moved for too long"},
    {"refuse", 2000, filter_refuse, ""},
    {"names", 10000, filter_names, ""},
};

/* How long nothing may move once one side has said all that it had to say. */
enum { HALF_CLOSED_MS = 60000 };

static void enter(struct connection *connection, size_t filter)
{
    connection->filter = filter;
    connection->deadline_ms = egress_now_ms() + filters[filter].limit_ms;
}

static void prolong(struct connection *connection)
{
    const bool half = connection->streams[SIDE_BOX].ended || connection->streams[SIDE_OUTSIDE].ended;

    connection->deadline_ms = egress_now_ms() + stand_in_idle(half ? HALF_CLOSED_MS : filters[FILTER_COPY].limit_ms);
}

/* A descriptor that nothing is wanted of is not in epoll: it would report the end of the line again and again. */
static bool watch(struct connection *connection, struct end *end)
{
    struct epoll_event event = {.events = end->wanted, .data.ptr = &end->source};
    const int operation = !end->wanted ? EPOLL_CTL_DEL : end->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

    if (end->fd < 0 || end->wanted == end->watched)
        return true;
    end->watched = end->wanted;
    return epoll_ctl(connection->egress->epoll_fd, operation, end->fd, &event) == 0;
}

void connection_advance(struct connection *connection)
{
    while (!connection->over) {
        connection->ends[SIDE_BOX].wanted = connection->ends[SIDE_OUTSIDE].wanted = 0;
        switch (filters[connection->filter].step(connection)) {
        case VERDICT_NEXT:
            enter(connection, connection->filter + 1);
            continue;
        case VERDICT_AGAIN:
            enter(connection, FILTER_REQUEST);
            continue;
        case VERDICT_REFUSED:
            enter(connection, FILTER_REFUSE);
            continue;
        case VERDICT_END:
            connection_end(connection);
            return;
        case VERDICT_WAIT:
            if (connection->filter == FILTER_COPY)
                prolong(connection);
            if (!watch(connection, &connection->ends[SIDE_BOX]) || !watch(connection, &connection->ends[SIDE_OUTSIDE]))
                connection_end(connection);
            return;
        }
    }
}

void connection_begin(struct connection *connection, size_t filter)
{
    enter(connection, filter);
    connection_advance(connection);
}

void connection_late(struct connection *connection)
{
    const char *reason = filters[connection->filter].late;

    if (connection->filter == FILTER_DIAL && dial_next(connection)) {
        enter(connection, FILTER_DIAL);
        connection_advance(connection);
        return;
    }
    if (connection->filter == FILTER_REQUEST && connection->kept) {
        connection->whole = true;
        connection_end(connection);
        return;
    }
    if (connection->filter >= FILTER_COPY) {
        snprintf(connection->reason, sizeof(connection->reason), "%.150s", *reason ? reason : connection->reason);
        connection_end(connection);
        return;
    }
    connection_refuse(connection, connection->filter ? "504 Gateway Timeout" : "408 Request Timeout", reason,
                      "Try again.");
    enter(connection, FILTER_REFUSE);
    connection_advance(connection);
}

void connection_end(struct connection *connection)
{
    if (connection->over)
        return;
    connection->over = true;
    if (connection->filter != FILTER_NAMES)
        log_decision(connection->egress, connection);
    if (connection->interception)
        connection->egress->interceptor->clear(connection);
    for (size_t i = 0; i < SIDES; i++)
        if (connection->ends[i].fd >= 0)
            close(take_fd(&connection->ends[i].fd));
}

bool connection_fits(const struct connection *connection, const struct policy *policy)
{
    const char *reason;

    if (!connection->decided_at_ms)
        return true; /* it will be decided by the new one */
    if (!policy_find(policy, &connection->target.host, connection->target.port, &reason))
        return false;
    if (!connection->addresses || connection->filter < FILTER_DIAL)
        return true;
    const address *chosen = &connection->addresses->addresses[connection->address];
    const bool own = resolve_is_own(connection->addresses, chosen);

    return policy_admits(policy, chosen, own ? ADDRESS_OWN : address_class(chosen), connection->target.port);
}

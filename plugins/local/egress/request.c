/* The filters that read a request and judge where it wants to go. */
#include "egress.h"
#include "interceptor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

static const char malformed[] = "the request is malformed";
static const char check_client[] = "Requests must be HTTP/1 to a proxy: CONNECT, or a URL of http.";

static bool write_head(struct connection *connection, struct head *head, const struct target *target)
{
    const struct interceptor *interceptor = connection->egress->interceptor;
    struct stream *box = &connection->streams[SIDE_BOX];
    struct written *written = NULL;

    if (interceptor && !interceptor->request(connection, target, head, &written))
        return false;
    const size_t size = head_size(head);

    box->head = malloc(size);
    box->head_length = box->head ? head_write_request(head, target, !connection->persistent, box->head, size) : 0;
    box->head_at = 0;
    if (written)
        interceptor->request_written(written);
    return box->head_length > 0;
}

/* Notes how the body is told from what follows, and writes the head anew. */
static bool rewrite(struct connection *connection, struct head *head, size_t length, const struct target *target)
{
    struct stream *box = &connection->streams[SIDE_BOX];
    enum framing framing;
    uint64_t body_length;

    connection->persistent = connection->secured && head_persists(head, HEAD_REQUEST);
    if (!head_framing(head, HEAD_REQUEST, &framing, &body_length) || !write_head(connection, head, target))
        return false;
    box->at = box->cleared = box->taken = box->at + length;
    box->framed = true;
    body_begin(&box->body, framing, body_length);
    connection->http = true;
    connection->headless = span_is(head->start[0], "HEAD");
    /* Of the answer nothing goes to the box before its head is read. */
    connection->streams[SIDE_OUTSIDE].framed = true;
    body_begin(&connection->streams[SIDE_OUTSIDE].body, FRAMING_NONE, 0);
    return true;
}

enum verdict request_take(struct connection *connection, const struct target *within)
{
    struct stream *box = &connection->streams[SIDE_BOX];
    struct head head;
    struct target target;
    const char *bytes = box->bytes + box->at;
    const long end = head_find_end(bytes, box->length - box->at, &box->seen);

    if (end == 0 && !box->ended) {
        connection->ends[SIDE_BOX].wanted |= EPOLLIN;
        return VERDICT_WAIT;
    }
    if (end == 0)
        return VERDICT_END;
    if (end < 0 || !head_parse(bytes, (size_t)end, HEAD_REQUEST, &head) || !head_target(&head, within, &target))
        return connection_refuse(connection, "400 Bad Request",
                                 within ? "what came is not HTTP to the tunnel's host" : malformed, check_client);
    if (target.tunnel && !within)
        box->at = box->cleared = box->taken = (size_t)end;
    else if (!rewrite(connection, &head, (size_t)end, &target))
        return connection_refuse(connection, "400 Bad Request", malformed, check_client);
    box->seen = 0;
    if (!within)
        connection->target = target;
    connection->target.path = (struct span){"", 0};
    return VERDICT_NEXT;
}

enum verdict filter_read_head(struct connection *connection)
{
    if (!connection_read(connection, SIDE_BOX))
        return VERDICT_END;
    return request_take(connection, NULL);
}

/* Behind an opened tunnel: each request is one to the tunnel's host. */
enum verdict filter_request(struct connection *connection)
{
    const struct stream *outside = &connection->streams[SIDE_OUTSIDE];
    const struct target within = connection->target;

    if (!connection->secured)
        return VERDICT_NEXT;
    if (!connection_read(connection, SIDE_BOX))
        return VERDICT_END;
    /* A server may end a connection that it has kept for long enough, and has nothing to say unasked. */
    if (connection->kept && (!connection_read(connection, SIDE_OUTSIDE) || outside->ended || outside->length > 0)) {
        connection->whole = true;
        return VERDICT_END;
    }
    const enum verdict verdict = request_take(connection, &within);

    if (verdict == VERDICT_WAIT && connection->kept)
        connection->ends[SIDE_OUTSIDE].wanted |= EPOLLIN;
    return verdict;
}

/* What the user can do about it: only what a list could hold is advised. Some addresses need their port there. */
static void advise(const struct egress *egress, const struct target *target, char *advice, size_t size)
{
    const bool usual = !target->host.is_address && (target->port == PORT_HTTP || target->port == PORT_HTTPS);
    const bool brackets = !usual && strchr(target->host.name, ':');
    char port[8] = "";

    if (!usual)
        snprintf(port, sizeof(port), ":%u", target->port);
    snprintf(advice, size, "Ask the user to allow it: sandlot network allow %s %s%s%s%s", egress->box,
             brackets ? "[" : "", target->host.name, brackets ? "]" : "", port);
}

enum verdict filter_decide(struct connection *connection)
{
    const struct target *target = &connection->target;
    const char *reason;
    const struct policy_entry *entry = policy_find(&connection->egress->policy, &target->host, target->port, &reason);
    char advice[512];

    connection->decided_at_ms = egress_time_ms();
    if (!entry) {
        advise(connection->egress, target, advice, sizeof(advice));
        return connection_refuse(connection, "403 Forbidden", reason, advice);
    }
    policy_rule(entry, connection->rule);
    if (target->port == PORT_HTTPS && !target->tunnel && !connection->egress->policy.open)
        return connection_refuse(connection, "403 Forbidden", policy_tls_only, "Use a URL of https.");
    connection->allowed = true;
    return VERDICT_NEXT;
}

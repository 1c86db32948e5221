/* The last filter: bytes in both directions, and the head of each answer of HTTP. */
#include "egress.h"
#include "interceptor.h"

#include <sandlot/sdk/cleanup.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum {
    ROUNDS = 4, /* before the others have their turn */
    SWITCHING_PROTOCOLS = 101,
    NO_CONTENT = 204,
    NOT_MODIFIED = 304
};

static bool write_head(struct connection *connection, const struct head *head)
{
    struct stream *answer = &connection->streams[SIDE_OUTSIDE];
    const size_t size = head_size(head);

    answer->head = malloc(size);
    answer->head_length = answer->head ? head_write_answer(head, !connection->persistent, answer->head, size) : 0;
    answer->head_at = 0;
    if (answer->head && connection->interception)
        connection->egress->interceptor->answer_head(connection, answer->head, answer->head_length);
    return answer->head_length > 0;
}

/* Writes the head of LENGTH bytes anew for the box, and begins the body behind a final one. */
static bool pass_head(struct connection *connection, const struct head *head, size_t length)
{
    struct stream *answer = &connection->streams[SIDE_OUTSIDE];
    enum framing framing;
    uint64_t body_length;

    if (head->status == SWITCHING_PROTOCOLS || !head_framing(head, HEAD_ANSWER, &framing, &body_length))
        return false;
    if (connection->headless || head->status == NO_CONTENT || head->status == NOT_MODIFIED)
        framing = FRAMING_NONE;
    if (head->status >= 200)
        connection->persistent =
            connection->persistent && framing != FRAMING_UNTIL_END && head_persists(head, HEAD_ANSWER);
    if (!write_head(connection, head))
        return false;
    answer->seen = 0;
    answer->at = answer->cleared = answer->taken = answer->at + length;
    if (head->status < 200)
        return true;
    connection->answered = true;
    body_begin(&answer->body, framing, body_length);
    return connection_clear(connection, SIDE_OUTSIDE);
}

/* The heads of what has come from outside. False if they are no HTTP. */
static bool read_answer(struct connection *connection)
{
    struct stream *answer = &connection->streams[SIDE_OUTSIDE];

    while (!connection->answered && !answer->head && answer->bytes) {
        struct head head;
        const char *bytes = answer->bytes + answer->at;
        const long end = head_find_end(bytes, answer->length - answer->at, &answer->seen);

        if (end == 0)
            return !answer->ended;
        if (end < 0 || !head_parse(bytes, (size_t)end, HEAD_ANSWER, &head) ||
            !pass_head(connection, &head, (size_t)end))
            return false;
    }
    return true;
}

static bool take(struct connection *connection, enum side side)
{
    return connection_passes(connection) ? connection_pass(connection, side) : connection_read(connection, side);
}

/* Is there a place for what SIDE says next? What passes needs none, but goes no further until the other side takes it;
 * else what has gone makes room before the next is read, also where what follows is held. */
static bool has_place(const struct connection *connection, enum side side)
{
    const struct stream *stream = &connection->streams[side];

    if (connection_passes(connection))
        return !connection_pending(connection, side);
    return stream->length < STREAM_SIZE || (stream->at > 0 && stream->at == stream->cleared);
}

static bool move(struct connection *connection, enum side side)
{
    struct stream *stream = &connection->streams[side];
    const struct end *other = &connection->ends[side == SIDE_BOX ? SIDE_OUTSIDE : SIDE_BOX];

    if (!connection_write(connection, side) || !take(connection, side))
        return false;
    /* A head that is none is answered for; behind one that the box may have, there is nothing but to end it. */
    if (connection->http && side == SIDE_OUTSIDE && !read_answer(connection))
        return !connection->answered;
    if (!connection_write(connection, side))
        return false;
    if (stream->ended && !stream->shut && !connection_pending(connection, side)) {
        stream->shut = true;
        if (!connection->secured) /* TLS ends as a whole */
            shutdown(other->fd, SHUT_WR);
    }
    return true;
}

/* Is all said that is to be said? */
static bool is_done(const struct connection *connection)
{
    const struct stream *box = &connection->streams[SIDE_BOX];
    const struct stream *outside = &connection->streams[SIDE_OUTSIDE];

    if (!connection->http)
        return box->shut && outside->shut;
    if (connection_pending(connection, SIDE_OUTSIDE))
        return false;
    return outside->ended || (connection->answered && outside->body.ended) || (box->ended && !box->body.ended);
}

/* Has one request been answered, so that the box may send another? What the server has said beyond its answer would be
 * taken for the next one's. */
static bool is_next_due(const struct connection *connection)
{
    const struct stream *box = &connection->streams[SIDE_BOX];
    const struct stream *outside = &connection->streams[SIDE_OUTSIDE];

    return connection->persistent && connection->answered && outside->body.ended && box->body.ended &&
           outside->length == 0 && !outside->ended && !outside->head && !connection_pending(connection, SIDE_BOX);
}

static void begin_next(struct connection *connection)
{
    connection->answered = connection->persistent = false;
    connection->kept = true;
}

/* Where the answer is there before the whole request is, the box is still sending: what comes is read for a while, for
 * to close with something unread would take the answer away. */
static enum verdict end_all(struct connection *connection)
{
    const struct stream *box = &connection->streams[SIDE_BOX];

    connection->whole = connection->answered;
    if (!connection->answered || box->body.ended || box->ended)
        return VERDICT_END;
    close(take_fd(&connection->ends[SIDE_OUTSIDE].fd));
    connection->streams[SIDE_OUTSIDE].shut = false;
    return VERDICT_REFUSED;
}

enum verdict filter_copy(struct connection *connection)
{
    for (int round = 0; round < ROUNDS; round++) {
        if (!connection_clear(connection, SIDE_BOX) || !move(connection, SIDE_BOX) || !move(connection, SIDE_OUTSIDE))
            return VERDICT_END;
        if (connection->http && !connection->answered && !connection->streams[SIDE_OUTSIDE].head &&
            !read_answer(connection)) {
            /* A kept connection that the server has ended meanwhile: programs know that, and begin another. */
            if (connection->kept && connection->streams[SIDE_OUTSIDE].length == 0)
                return VERDICT_END;
            return connection_refuse(connection, "502 Bad Gateway", "its answer is no valid HTTP", "Try again.");
        }
        if (is_next_due(connection)) {
            begin_next(connection);
            return VERDICT_AGAIN;
        }
        if (is_done(connection))
            return end_all(connection);
    }
    for (size_t side = 0; side < SIDES; side++) {
        const struct stream *stream = &connection->streams[side];

        const bool reads = !stream->ended && has_place(connection, (enum side)side);

        if (reads && connection->secured)
            connection->again |= connection->egress->interceptor->pending(connection, (enum side)side);
        if (reads)
            connection->ends[side].wanted |= EPOLLIN;
        if (connection_pending(connection, side))
            connection->ends[side == SIDE_BOX ? SIDE_OUTSIDE : SIDE_BOX].wanted |= EPOLLOUT;
    }
    return VERDICT_WAIT;
}

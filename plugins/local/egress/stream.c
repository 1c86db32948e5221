/* Bytes in and out of a connection's streams. */
#include "connection.h"
#include "egress.h"
#include "interceptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

bool connection_clear(struct connection *connection, enum side side)
{
    struct stream *stream = &connection->streams[side];

    if (!stream->framed) {
        stream->taken = stream->cleared = stream->length;
        return true;
    }
    if (side == SIDE_OUTSIDE && connection->interception)
        return connection->egress->interceptor->answer_body(connection);
    const long more = body_take(&stream->body, stream->bytes + stream->taken, stream->length - stream->taken);

    stream->taken += more > 0 ? (size_t)more : 0;
    stream->cleared = stream->taken;
    return more >= 0;
}

void stream_drop_head(struct stream *stream)
{
    if (stream->head)
        explicit_bzero(stream->head, stream->head_length);
    free(stream->head);
    stream->head = NULL;
    stream->head_at = stream->head_length = 0;
}

/* What waits for more goes to the front, where there is no room behind it. */
static void make_room(struct connection *connection, enum side side)
{
    struct stream *stream = &connection->streams[side];
    const size_t gone = stream->at;

    if (stream->length < STREAM_SIZE || gone == 0 || gone < stream->cleared)
        return;
    memmove(stream->bytes, stream->bytes + gone, stream->length - gone);
    stream->at = 0;
    stream->cleared -= gone;
    stream->taken -= gone;
    stream->length -= gone;
    if (connection->interception)
        connection->egress->interceptor->moved(connection, side, gone);
}

static ssize_t receive(struct connection *connection, enum side side, char *bytes, size_t size)
{
    return connection->secured ? connection->egress->interceptor->receive(connection, side, bytes, size)
                               : recv(connection->ends[side].fd, bytes, size, 0);
}

static bool has_bytes(struct stream *stream)
{
    if (!stream->bytes)
        stream->bytes = malloc(STREAM_SIZE);
    return stream->bytes != NULL;
}

bool connection_read(struct connection *connection, enum side side)
{
    struct stream *stream = &connection->streams[side];

    if (!has_bytes(stream))
        return false;
    make_room(connection, side);
    if (stream->ended || stream->length == STREAM_SIZE)
        return true;
    const ssize_t got = receive(connection, side, stream->bytes + stream->length, STREAM_SIZE - stream->length);

    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    stream->ended = got == 0;
    stream->length += (size_t)got;
    return connection->filter != FILTER_COPY || connection_clear(connection, side);
}

bool connection_pending(const struct connection *connection, enum side side)
{
    const struct stream *stream = &connection->streams[side];

    return stream->head || stream->at < stream->cleared;
}

static enum side opposite(enum side side)
{
    return side == SIDE_BOX ? SIDE_OUTSIDE : SIDE_BOX;
}

/* What this process says itself, that a tunnel is there or why something is refused, is nobody's. */
static void count_bytes(struct connection *connection, enum side side, size_t count)
{
    if (connection->filter != FILTER_COPY)
        return;
    *(side == SIDE_BOX ? &connection->bytes_out : &connection->bytes_in) += count;
}

static bool write_part(struct connection *connection, enum side side, const char *bytes, size_t length, size_t *at)
{
    const enum side to = opposite(side);
    const ssize_t sent = connection->secured
                             ? connection->egress->interceptor->send(connection, to, bytes + *at, length - *at)
                             : send(connection->ends[to].fd, bytes + *at, length - *at, MSG_NOSIGNAL);

    if (sent < 0)
        return errno == EAGAIN || errno == EINTR;
    *at += (size_t)sent;
    count_bytes(connection, side, (size_t)sent);
    return true;
}

bool connection_write(struct connection *connection, enum side side)
{
    struct stream *stream = &connection->streams[side];

    if (stream->head) {
        if (!write_part(connection, side, stream->head, stream->head_length, &stream->head_at))
            return false;
        if (stream->head_at < stream->head_length)
            return true;
        stream_drop_head(stream);
    }
    if (stream->at < stream->cleared && !write_part(connection, side, stream->bytes, stream->cleared, &stream->at))
        return false;
    if (stream->at == stream->length)
        stream->at = stream->cleared = stream->taken = stream->length = 0;
    return true;
}

bool connection_passes(const struct connection *connection)
{
    return !connection->http && !connection->secured;
}

/* What the pipe still holds goes into the stream: the next one finds the pipe empty. */
static void empty_pipe(int fd, struct stream *stream, size_t count)
{
    while (stream->length < count) {
        const ssize_t got = read(fd, stream->bytes + stream->length, count - stream->length);

        if (got <= 0)
            _exit(1); /* else it would be taken for what another connection says */
        stream->length += (size_t)got;
    }
    stream->taken = stream->cleared = stream->length;
}

bool connection_pass(struct connection *connection, enum side side)
{
    struct stream *stream = &connection->streams[side];
    const int *pipe_fds = connection->egress->pipe_fds;

    if (!has_bytes(stream))
        return false;
    if (stream->ended || connection_pending(connection, side))
        return true;
    const ssize_t got = splice(connection->ends[side].fd, NULL, pipe_fds[1], NULL, STREAM_SIZE, SPLICE_F_NONBLOCK);

    stream->ended = got == 0;
    if (got <= 0)
        return got == 0 || errno == EAGAIN || errno == EINTR;
    const ssize_t sent =
        splice(pipe_fds[0], NULL, connection->ends[opposite(side)].fd, NULL, (size_t)got, SPLICE_F_NONBLOCK);
    const int error = errno;

    empty_pipe(pipe_fds[0], stream, (size_t)got - (sent < 0 ? 0 : (size_t)sent));
    count_bytes(connection, side, sent < 0 ? 0 : (size_t)sent);
    return sent >= 0 || error == EAGAIN || error == EINTR;
}

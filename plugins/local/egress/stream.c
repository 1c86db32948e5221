/* Bytes in and out of a connection's streams. */
#include "connection.h"
#include "egress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

bool connection_clear(struct connection *connection, enum side side)
{
    struct stream *stream = &connection->streams[side];

    if (!stream->framed) {
        stream->cleared = stream->length;
        return true;
    }
    const long more = body_take(&stream->body, stream->bytes + stream->cleared, stream->length - stream->cleared);

    stream->cleared += more > 0 ? (size_t)more : 0;
    return more >= 0;
}

bool connection_read(struct connection *connection, enum side side)
{
    struct stream *stream = &connection->streams[side];

    if (!stream->bytes)
        stream->bytes = malloc(STREAM_SIZE);
    if (!stream->bytes)
        return false;
    if (stream->ended || stream->length == STREAM_SIZE)
        return true;
    const ssize_t got =
        recv(connection->ends[side].fd, stream->bytes + stream->length, STREAM_SIZE - stream->length, 0);

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

static bool write_part(struct connection *connection, enum side side, const char *bytes, size_t length, size_t *at)
{
    const ssize_t sent =
        send(connection->ends[side == SIDE_BOX ? SIDE_OUTSIDE : SIDE_BOX].fd, bytes + *at, length - *at, MSG_NOSIGNAL);

    if (sent < 0)
        return errno == EAGAIN || errno == EINTR;
    *at += (size_t)sent;
    *(side == SIDE_BOX ? &connection->bytes_out : &connection->bytes_in) += (uint64_t)sent;
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
        free(stream->head);
        stream->head = NULL;
    }
    if (stream->at < stream->cleared && !write_part(connection, side, stream->bytes, stream->cleared, &stream->at))
        return false;
    if (stream->at == stream->length)
        stream->at = stream->cleared = stream->length = 0;
    return true;
}

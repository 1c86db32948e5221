/* Messages from and to the host, and the end where there can be none. */
#include "loader/worker/program/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

void worker_give_up(const char *why)
{
    fprintf(stderr, "sandlot-worker: %s\n", why);
    _exit(EXIT_FAILURE);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static bool receive_all(int socket, void *buffer, size_t length)
{
    size_t have = 0;

    while (have < length) {
        ssize_t got = recv(socket, (char *)buffer + have, length - have, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        have += (size_t)got;
    }
    return true;
}

bool message_receive(int socket, struct channel_header *header, unsigned char **bytes, size_t *capacity)
{
    if (!receive_all(socket, header, sizeof(*header)))
        return false;
    if (header->length > CHANNEL_LARGEST_CALL)
        worker_give_up("the host sent a message that is too large");
    if (header->length > *capacity || !*bytes) {
        size_t size = header->length < 4096 ? 4096 : header->length;

        free(*bytes);
        *bytes = malloc(size);
        *capacity = size;
        if (!*bytes)
            worker_give_up("out of memory");
    }
    return receive_all(socket, *bytes, header->length);
}

static void add_gifts(struct msghdr *message, char *control, const int *gifts, size_t count)
{
    message->msg_control = control;
    message->msg_controllen = CMSG_SPACE(count * sizeof(int));
    struct cmsghdr *header = CMSG_FIRSTHDR(message);

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(header), gifts, count * sizeof(int));
}

void message_send(const struct connection *connection, uint32_t type, const struct wire_writer *out, const int *gifts,
                  size_t gift_count)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(CHANNEL_GIFTS * sizeof(int))] = {0};
    struct channel_header header = {(uint32_t)out->length, type};
    struct iovec parts[2] = {{&header, sizeof(header)}, {out->bytes, out->length}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

    if (out->failed || out->length > CHANNEL_LARGEST_CALL)
        worker_give_up("out of memory");
    if (gifts && gift_count > 0)
        add_gifts(&message, control, gifts, gift_count);
    while (parts[0].iov_len + parts[1].iov_len > 0) {
        ssize_t sent = sendmsg(connection->socket, &message, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            worker_give_up("the host has gone");
        message.msg_control = NULL;
        message.msg_controllen = 0;
        for (size_t i = 0; i < 2; i++) {
            size_t part = (size_t)sent < parts[i].iov_len ? (size_t)sent : parts[i].iov_len;

            parts[i].iov_base = (char *)parts[i].iov_base + part;
            parts[i].iov_len -= part;
            sent -= (ssize_t)part;
        }
    }
    channel_beat(&connection->memory->worker);
}

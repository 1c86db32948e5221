#include "protocol.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>

enum { BACKLOG = 1024, CONNECT_SECONDS = 5 };

union descriptor_space {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int) * MESSAGE_FDS)];
};

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits until SOCKET is ready for EVENTS. */
static enum protocol_result wait_for(int socket, short events, int64_t deadline_ms, int cancel_fd)
{
    struct pollfd fds[2] = {{socket, events, 0}, {cancel_fd, POLLIN, 0}};

    for (;;) {
        int64_t left = deadline_ms - now_ms();
        int ready = poll(fds, 2, left <= 0 ? 0 : left > INT32_MAX ? INT32_MAX : (int)left);

        if (ready < 0 && errno == EINTR)
            continue;
        if (ready < 0)
            return PROTOCOL_BROKEN;
        if (fds[1].revents)
            return PROTOCOL_CANCELLED;
        if (fds[0].revents)
            return PROTOCOL_OK;
        if (deadline_ms <= now_ms())
            return PROTOCOL_TIMEOUT;
    }
}

static int body_into_memfd(const void *body, size_t length)
{
    AUTO_CLOSE int fd = memfd_create("sandlot-message", MFD_CLOEXEC);
    const char *at = body;

    while (fd >= 0 && length) {
        ssize_t written = write(fd, at, length);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return -1;
        at += written;
        length -= (size_t)written;
    }
    return take_fd(&fd);
}

static enum protocol_result send_datagram(int socket, const struct msghdr *datagram, int64_t deadline_ms)
{
    for (;;) {
        if (sendmsg(socket, datagram, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
            return PROTOCOL_OK;
        if (errno == EINTR)
            continue;
        if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN)
            return PROTOCOL_CLOSED;
        if (errno != EAGAIN && errno != ENOBUFS)
            return PROTOCOL_BROKEN;
        enum protocol_result waited = wait_for(socket, POLLOUT, deadline_ms, -1);

        if (waited != PROTOCOL_OK)
            return waited;
    }
}

enum protocol_result protocol_send(int socket, uint32_t kind, const void *body, size_t length, const int *fds,
                                   size_t fd_count, int64_t deadline_ms)
{
    struct message header = {kind, 0, (uint32_t)length, PROTOCOL_VERSION};
    AUTO_CLOSE int body_fd = -1;
    int sent[MESSAGE_FDS];
    size_t sent_count = 0;
    union descriptor_space space = {0};

    if (length > MESSAGE_BODY_MAXIMUM || fd_count > MESSAGE_FDS - (length > MESSAGE_INLINE)) {
        errno = EMSGSIZE;
        return PROTOCOL_BROKEN;
    }
    if (length > MESSAGE_INLINE) {
        body_fd = body_into_memfd(body, length);
        if (body_fd < 0)
            return PROTOCOL_BROKEN;
        header.flags = MESSAGE_BODY_IN_FD;
        sent[sent_count++] = body_fd;
    }
    for (size_t i = 0; i < fd_count; i++)
        sent[sent_count++] = fds[i];
    struct iovec parts[2] = {{&header, sizeof(header)}, {(void *)(uintptr_t)body, body_fd < 0 ? length : 0}};
    struct msghdr datagram = {.msg_iov = parts, .msg_iovlen = parts[1].iov_len ? 2 : 1};

    if (sent_count) {
        datagram.msg_control = space.bytes;
        datagram.msg_controllen = CMSG_SPACE(sizeof(int) * sent_count);
        space.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        space.header.cmsg_len = CMSG_LEN(sizeof(int) * sent_count);
        memcpy(CMSG_DATA(&space.header), sent, sizeof(int) * sent_count);
    }
    return send_datagram(socket, &datagram, deadline_ms);
}

/* Moves the descriptors of DATAGRAM into MESSAGE; those that do not fit are closed. */
static void collect_fds(struct msghdr *datagram, struct received *message)
{
    for (struct cmsghdr *part = CMSG_FIRSTHDR(datagram); part; part = CMSG_NXTHDR(datagram, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        for (size_t i = 0; i < count; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
            if (message->fd_count < MESSAGE_FDS)
                message->fds[message->fd_count++] = fd;
            else
                close(fd);
        }
    }
}

/* Reads the body that travelled as the first descriptor. */
static bool read_body_fd(struct received *message)
{
    AUTO_CLOSE int fd = received_take_fd(message, 0);

    if (fd < 0)
        return false;
    message->fd_count--;
    memmove(message->fds, message->fds + 1, message->fd_count * sizeof(int));
    for (size_t used = 0; used < message->header.length;) {
        ssize_t got = pread(fd, message->body + used, message->header.length - used, (off_t)used);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        used += (size_t)got;
    }
    return true;
}

/* Checks what arrived and gives MESSAGE its body. */
static bool unpack(struct received *message, const char *bytes, size_t received)
{
    const struct message *header = &message->header;
    bool in_fd = header->flags & MESSAGE_BODY_IN_FD;

    if (received < sizeof(*header) || header->length > MESSAGE_BODY_MAXIMUM)
        return false;
    if (received - sizeof(*header) != (in_fd ? 0 : header->length))
        return false;
    message->body = malloc((size_t)header->length + 1);
    if (!message->body)
        return false;
    message->body[header->length] = '\0';
    if (in_fd)
        return read_body_fd(message);
    memcpy(message->body, bytes, header->length);
    return true;
}

enum protocol_result protocol_receive(int socket, struct received *message, int64_t deadline_ms, int cancel_fd)
{
    char bytes[MESSAGE_INLINE];
    union descriptor_space space;
    struct iovec parts[2] = {{&message->header, sizeof(message->header)}, {bytes, sizeof(bytes)}};
    struct msghdr datagram = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t got;

    memset(message, 0, sizeof(*message));
    for (;;) {
        datagram.msg_control = space.bytes;
        datagram.msg_controllen = sizeof(space.bytes);
        got = recvmsg(socket, &datagram, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (got >= 0)
            break;
        if (errno == EINTR)
            continue;
        if (errno == ECONNRESET)
            return PROTOCOL_CLOSED;
        if (errno != EAGAIN)
            return PROTOCOL_BROKEN;
        enum protocol_result waited = wait_for(socket, POLLIN, deadline_ms, cancel_fd);

        if (waited != PROTOCOL_OK)
            return waited;
    }
    if (got == 0)
        return PROTOCOL_CLOSED;
    collect_fds(&datagram, message);
    if (!(datagram.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) && unpack(message, bytes, (size_t)got))
        return PROTOCOL_OK;
    received_clear(message);
    errno = EBADMSG;
    return PROTOCOL_BROKEN;
}

void received_clear(struct received *message)
{
    for (size_t i = 0; i < message->fd_count; i++)
        if (message->fds[i] >= 0)
            close(message->fds[i]);
    free(message->body);
    memset(message, 0, sizeof(*message));
}

int received_take_fd(struct received *message, size_t i)
{
    return i < message->fd_count ? take_fd(&message->fds[i]) : -1;
}

/* The address of NAME in a folder, short whatever the folder's path is. */
static bool address_of(int folder_fd, const char *name, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/%s", folder_fd, name);

    if (length > 0 && (size_t)length < sizeof(address->sun_path))
        return true;
    errno = ENAMETOOLONG;
    return false;
}

int protocol_listen(int folder_fd, const char *name)
{
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct sockaddr_un address;

    if (fd < 0 || !address_of(folder_fd, name, &address))
        return -1;
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, BACKLOG) < 0)
        return -1;
    return take_fd(&fd);
}

int protocol_connect(int folder_fd, const char *name)
{
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct timeval limit = {.tv_sec = CONNECT_SECONDS};
    struct sockaddr_un address;

    if (fd < 0 || !address_of(folder_fd, name, &address))
        return -1;
    /* connect(2) waits while the listener's queue is full, but no longer than SO_SNDTIMEO. */
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0)
        return -1;
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return -1;
    return take_fd(&fd);
}

#include "operations/listener.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { QUEUE = 1024, FREE_PORT_TRIES = 16 };

/* ADDRESS and PORT for bind(2). False if that is no address. */
static bool parse(const char *address, uint16_t port, struct sockaddr_storage *where, socklen_t *length)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char service[8];

    snprintf(service, sizeof(service), "%u", (unsigned)port);
    if (getaddrinfo(address, service, &hints, &found) != 0)
        return false;
    memcpy(where, found->ai_addr, found->ai_addrlen);
    *length = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

/* The port that a socket has got. */
static uint16_t port_of(int fd)
{
    struct sockaddr_storage where = {0};
    socklen_t length = sizeof(where);
    char service[8] = "";

    if (getsockname(fd, (struct sockaddr *)&where, &length) < 0 ||
        getnameinfo((const struct sockaddr *)&where, length, NULL, 0, service, sizeof(service), NI_NUMERICSERV) != 0)
        return 0;
    return (uint16_t)strtoul(service, NULL, 10);
}

/* A listening socket, or -1 with errno. */
static int listen_at(const struct sockaddr_storage *where, socklen_t length)
{
    static const int one = 1;
    AUTO_CLOSE int fd = socket(where->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0)
        return -1;
    /* The other loopback has a socket of its own. */
    if (where->ss_family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) < 0)
        return -1;
    if (bind(fd, (const struct sockaddr *)where, length) < 0 || listen(fd, QUEUE) < 0)
        return -1;
    return take_fd(&fd);
}

static int open_one(struct listener *listener, size_t index, const char *address, uint16_t port)
{
    struct sockaddr_storage where;
    socklen_t length;

    if (!parse(address, port, &where, &length)) {
        errno = EDESTADDRREQ;
        return -1;
    }
    listener->fds[index] = listen_at(&where, length);
    if (listener->fds[index] < 0)
        return -1;
    listener->port = port_of(listener->fds[index]);
    return 0;
}

static bool lacks_address(int reason)
{
    return reason == EADDRNOTAVAIL || reason == EAFNOSUPPORT || reason == EDESTADDRREQ;
}

/* A port that is free at 127.0.0.1 may be taken at ::1: then another one is tried, unless it was asked for. */
static int open_loopbacks(struct listener *listener, uint16_t port)
{
    for (int tries = 0;; tries++) {
        if (open_one(listener, 0, "127.0.0.1", port) < 0)
            return -1;
        if (open_one(listener, 1, "::1", listener->port) == 0 || lacks_address(errno))
            return 0;
        int reason = errno;

        listener_close(listener);
        errno = reason;
        if (reason != EADDRINUSE || port != 0 || tries == FREE_PORT_TRIES)
            return -1;
    }
}

static int refuse(const char *address, uint16_t port, int reason, struct sandlot_error *error)
{
    if (!address)
        address = "127.0.0.1";
    if (reason == EDESTADDRREQ)
        return error_set(error, SANDLOT_CODE_USAGE, "%s is no address; give one in numbers, such as 127.0.0.1 or ::1",
                         address);
    if (reason == EADDRINUSE)
        return error_set(error, SANDLOT_CODE_CONFLICT,
                         "cannot listen on %s port %u: somebody listens there already; choose another port", address,
                         (unsigned)port);
    if (reason == EACCES)
        return error_set(error, SANDLOT_CODE_PERMISSION_DENIED,
                         "cannot listen on %s port %u: ports below 1024 are root's; choose a higher one", address,
                         (unsigned)port);
    return error_set(error, SANDLOT_CODE_USAGE, "cannot listen on %s port %u: %s; choose another address", address,
                     (unsigned)port, strerror(reason));
}

int listener_open(struct listener *listener, const char *address, uint16_t port, struct sandlot_error *error)
{
    *listener = (struct listener){.fds = {-1, -1}};
    int failed = address ? open_one(listener, 0, address, port) : open_loopbacks(listener, port);

    return failed ? refuse(address, port, errno, error) : 0;
}

void listener_close(struct listener *listener)
{
    for (size_t i = 0; i < LISTENER_SOCKETS; i++)
        if (listener->fds[i] >= 0)
            close(take_fd(&listener->fds[i]));
}

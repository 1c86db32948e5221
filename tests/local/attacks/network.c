/* Sockets. A box without network has a loopback of its own and nothing else. */
#include "attack.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

enum { ANSWER_MS = 300, FAMILIES = 47, NETLINKS = 32 };

static socklen_t ip_address(struct sockaddr_storage *address, const char *text, int port)
{
    struct sockaddr_in *four = (struct sockaddr_in *)address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;

    memset(address, 0, sizeof(*address));
    if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)port);
        return sizeof(*four);
    }
    six->sin6_family = AF_INET6;
    six->sin6_port = htons((uint16_t)port);
    return inet_pton(AF_INET6, text, &six->sin6_addr) == 1 ? (socklen_t)sizeof(*six) : 0;
}

static bool unix_connects(const char *name, size_t length)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    bool connected = false;

    if (length == 0 || length > sizeof(address.sun_path))
        return false;
    memcpy(address.sun_path, name, length);
    for (int type = SOCK_STREAM; type <= SOCK_SEQPACKET && !connected; type++) {
        int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);

        connected = fd >= 0 && connect(fd, (struct sockaddr *)&address, size) == 0;
        if (fd >= 0)
            close(fd);
    }
    return connected;
}

static enum verdict abstract_socket(const struct attack *attack)
{
    char name[100] = "";
    int length = snprintf(name + 1, sizeof(name) - 1, "%s", bait("NAME"));

    (void)attack;
    return unix_connects(name, (size_t)length + 1) ? through("connected to the abstract socket @%s", name + 1) : HELD;
}

static enum verdict path_sockets(const struct attack *attack)
{
    static const char *const paths[] = {"/run/docker.sock",
                                        "/var/run/docker.sock",
                                        "/run/dbus/system_bus_socket",
                                        "/run/containerd/containerd.sock",
                                        "/run/podman/podman.sock",
                                        "/run/systemd/private",
                                        "/run/systemd/journal/socket",
                                        "/run/snapd.socket",
                                        "/tmp/.X11-unix/X0",
                                        "/run/user/0/bus",
                                        "/run/user/1000/bus",
                                        "/dev/log"};
    const char *own = bait("SOCKET");

    (void)attack;
    if (unix_connects(own, strlen(own)))
        return through("connected to %s", own);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (unix_connects(paths[i], strlen(paths[i])))
            return through("connected to %s", paths[i]);
    return HELD;
}

static const char *const loopbacks[] = {"127.0.0.1", "::1", "::ffff:127.0.0.1", "127.1.2.3", "0.0.0.0", "::"};

enum { LOOPBACKS = sizeof(loopbacks) / sizeof(loopbacks[0]) };

/* Address I that the host listens on; NULL after the last. */
static const char *listening(size_t i)
{
    const char *own = bait("HOST_ADDRESS");

    if (i < LOOPBACKS)
        return loopbacks[i];
    return i == LOOPBACKS && *own ? own : NULL;
}

static enum verdict loopback_tcp(const struct attack *attack)
{
    static const int protocols[] = {IPPROTO_TCP, IPPROTO_MPTCP};
    const char *text;

    (void)attack;
    for (size_t i = 0; (text = listening(i)); i++)
        for (size_t j = 0; j < sizeof(protocols) / sizeof(protocols[0]); j++) {
            struct sockaddr_storage address;
            socklen_t size = ip_address(&address, text, (int)bait_number("TCP_PORT"));
            int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, protocols[j]);
            bool connected = fd >= 0 && connect(fd, (struct sockaddr *)&address, size) == 0;

            if (fd >= 0)
                close(fd);
            if (connected)
                return through("connected to %s (protocol %d)", text, protocols[j]);
        }
    return HELD;
}

/* Sends TEXT and looks whether anybody answers. */
static bool answers(const char *host, int port, const void *text, size_t length)
{
    struct sockaddr_storage address;
    char answer[512];
    socklen_t size = ip_address(&address, host, port);
    int fd = size ? socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    bool answered = fd >= 0 && connect(fd, (struct sockaddr *)&address, size) == 0 &&
                    send(fd, text, length, MSG_NOSIGNAL) == (ssize_t)length && poll(&ready, 1, ANSWER_MS) == 1 &&
                    recv(fd, answer, sizeof(answer), MSG_DONTWAIT) > 0;

    if (fd >= 0)
        close(fd);
    return answered;
}

static enum verdict loopback_udp(const struct attack *attack)
{
    const char *text;

    (void)attack;
    for (size_t i = 0; (text = listening(i)); i++)
        if (answers(text, (int)bait_number("UDP_PORT"), "hello", 5))
            return through("had an answer by UDP from %s", text);
    return HELD;
}

/* Connecting a UDP socket sends nothing: it only asks the kernel for a route. */
static bool has_route(const char *text, int port)
{
    struct sockaddr_storage address;
    socklen_t size = ip_address(&address, text, port);
    int fd = size ? socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    bool route = fd >= 0 && connect(fd, (struct sockaddr *)&address, size) == 0;

    if (fd >= 0)
        close(fd);
    return route;
}

static enum verdict routes(const struct attack *attack)
{
    static const char *const addresses[] = {"1.1.1.1",         "8.8.8.8",       "169.254.169.254",      "10.0.0.1",
                                            "192.168.1.1",     "172.17.0.1",    "100.100.100.200",      "192.0.2.1",
                                            "255.255.255.255", "224.0.0.251",   "2606:4700:4700::1111", "fd00:ec2::254",
                                            "2001:db8::1",     "::ffff:1.1.1.1"};
    const char *own = bait("HOST_ADDRESS");

    (void)attack;
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
        if (has_route(addresses[i], 443))
            return through("there is a route to %s", addresses[i]);
    return *own && has_route(own, 443) ? through("there is a route to %s", own) : HELD;
}

/* 192.0.2.0/24 and 2001:db8::/32 are for documentation: nobody is there. */
static enum verdict outside_tcp(const struct attack *attack)
{
    static const char *const addresses[] = {"192.0.2.1", "2001:db8::1"};

    (void)attack;
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        struct sockaddr_storage address;
        socklen_t size = ip_address(&address, addresses[i], 80);
        int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        bool going = fd >= 0 && (connect(fd, (struct sockaddr *)&address, size) == 0 || errno == EINPROGRESS);

        if (fd >= 0)
            close(fd);
        if (going)
            return through("the connection to %s was not refused at once", addresses[i]);
    }
    return HELD;
}

static enum verdict name_server(const struct attack *attack)
{
    static const unsigned char query[] =
        "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x09localhost\x00\x00\x01\x00\x01";
    static char text[4096];
    ssize_t length = read_start(AT_FDCWD, "/etc/resolv.conf", text, sizeof(text) - 1);

    (void)attack;
    text[length < 0 ? 0 : length] = '\0';
    for (const char *at = text; (at = strstr(at, "nameserver ")); at += 11) {
        char server[64];

        if (sscanf(at + 11, "%63s", server) == 1 &&
            (has_route(server, 53) || answers(server, 53, query, sizeof(query) - 1)))
            return through("the name server %s can be asked", server);
    }
    return answers("127.0.0.53", 53, query, sizeof(query) - 1) ? through("the resolver of the host answered") : HELD;
}

static enum verdict interfaces(const struct attack *attack)
{
    static char text[16 * 1024];
    ssize_t length = read_start(AT_FDCWD, "/proc/net/dev", text, sizeof(text) - 1);
    char *rest = NULL;

    (void)attack;
    text[length < 0 ? 0 : length] = '\0';
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char name[32];

        if (strchr(line, ':') && sscanf(line, " %31[^:]", name) == 1 && strcmp(name, "lo") != 0)
            return through("there is the interface %s", name);
    }
    return HELD;
}

static bool may_exist(int family, int type)
{
    if (family == AF_UNIX)
        return true;
    if (family == AF_INET || family == AF_INET6)
        return type == SOCK_STREAM || type == SOCK_DGRAM;
    return family == AF_NETLINK;
}

static enum verdict families(const struct attack *attack)
{
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET, SOCK_RDM};
    int pair[2];

    (void)attack;
    for (int family = 0; family < FAMILIES; family++)
        for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
            int protocol = types[i] == SOCK_RAW && (family == AF_INET || family == AF_INET6) ? IPPROTO_ICMP : 0;

            if (may_exist(family, types[i]))
                continue;
            if (socket(family, types[i], protocol) >= 0)
                return through("made a socket of family %d, type %d", family, types[i]);
            if (socketpair(family, types[i], protocol, pair) == 0)
                return through("made a pair of family %d, type %d", family, types[i]);
        }
    return HELD;
}

static enum verdict netlinks(const struct attack *attack)
{
    (void)attack;
    for (int protocol = 1; protocol < NETLINKS; protocol++)
        if (socket(AF_NETLINK, SOCK_RAW, protocol) >= 0)
            return through("made a netlink socket of protocol %d", protocol);
    return HELD;
}

/* Protocols whose queues the guard of a box does not see. */
static enum verdict protocols(const struct attack *attack)
{
    static const int denied[] = {33 /* DCCP */, 132 /* SCTP */, 136 /* UDP-Lite */, 256 /* SMC */, 262 /* MPTCP */};
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};

    (void)attack;
    for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++)
        for (size_t type = 0; type < sizeof(types) / sizeof(types[0]); type++)
            if (syscall(SYS_socket, AF_INET, types[type], 0x700000000L | denied[i]) >= 0 ||
                socket(AF_INET6, types[type], denied[i]) >= 0)
                return through("made a socket of protocol %d", denied[i]);
    return HELD;
}

/* The kernel takes the family from the low 32 bits: a filter that compares 64 would miss these. */
static enum verdict wide_families(const struct attack *attack)
{
    static const int families_denied[] = {AF_VSOCK, AF_ALG, AF_PACKET};

    (void)attack;
    for (size_t i = 0; i < sizeof(families_denied) / sizeof(families_denied[0]); i++)
        if (syscall(SYS_socket, 0x700000000L | families_denied[i], SOCK_DGRAM, 0) >= 0 ||
            syscall(SYS_socket, 0x700000000L | families_denied[i], SOCK_SEQPACKET, 0) >= 0)
            return through("made a socket of family %d with high bits set", families_denied[i]);
    return HELD;
}

/* A variable may name the box's own proxy, which has no password; the machine's may hold one. */
static bool is_own_proxy(const char *value)
{
    return strcmp(value, "http://127.0.0.1:3128") == 0 || strcmp(value, "localhost,127.0.0.1,::1") == 0;
}

static enum verdict proxy_variables(const struct attack *attack)
{
    (void)attack;
    for (char **variable = environ; *variable; variable++) {
        size_t length = strcspn(*variable, "=");

        if (length > 6 && strncasecmp(*variable + length - 6, "_PROXY", 6) == 0 &&
            !is_own_proxy(*variable + length + 1))
            return through("the environment has %.*s of the machine's", (int)length, *variable);
    }
    return HELD;
}

const struct attack network_attacks[] = {
    {.name = "network-abstract-socket", .run = abstract_socket},
    {.name = "network-path-sockets", .run = path_sockets},
    {.name = "network-loopback-tcp", .run = loopback_tcp},
    {.name = "network-loopback-udp", .run = loopback_udp},
    {.name = "network-routes", .run = routes},
    {.name = "network-outside-tcp", .run = outside_tcp},
    {.name = "network-name-server", .run = name_server},
    {.name = "network-interfaces", .run = interfaces, .flags = NEEDS_NAMESPACES},
    {.name = "network-families", .run = families},
    {.name = "network-netlinks", .run = netlinks},
    {.name = "network-protocols", .run = protocols},
    {.name = "network-wide-families", .run = wide_families},
    {.name = "network-proxy-variables", .run = proxy_variables},
    {0},
};

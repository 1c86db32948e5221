/*
 * A server in a box, reached through a port of this machine, beside the same server on this machine's own loopback.
 */
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { INSIDE = 8080, FIRST = 200, LARGE = 7, LARGE_BYTES = 256 << 20, IN_A_ROW = 1000, IDLE = 200, PATIENCE = 200 };

/* Sends as many bytes as each line asks for, until there are no more lines. */
static const char SERVER[] = "import socketserver, sys\n"
                             "block = memoryview(bytes(1 << 18))\n"
                             "class Answer(socketserver.StreamRequestHandler):\n"
                             "    def handle(self):\n"
                             "        for line in self.rfile:\n"
                             "            left = int(line)\n"
                             "            while left > 0:\n"
                             "                left -= self.request.send(block[:left])\n"
                             "class Server(socketserver.ThreadingTCPServer):\n"
                             "    allow_reuse_address = daemon_threads = True\n"
                             "    request_queue_size = 300\n"
                             "Server(('127.0.0.1', int(sys.argv[1])), Answer).serve_forever()\n";

static int connect_to(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (connection >= 0 && connect(connection, (struct sockaddr *)&address, sizeof(address)) < 0) {
        close(connection);
        return -1;
    }
    return connection;
}

/* Asks for LENGTH bytes and takes them; false: there is nobody. */
static bool take(int connection, size_t length)
{
    static char block[1 << 18];
    char line[24];
    ssize_t got = 1;

    snprintf(line, sizeof(line), "%zu\n", length);
    if (send(connection, line, strlen(line), MSG_NOSIGNAL) < 0)
        return false;
    while (length > 0 && (got = recv(connection, block, length < sizeof(block) ? length : sizeof(block), 0)) > 0)
        length -= (size_t)got;
    return length == 0;
}

static void converse(uint16_t port, size_t length)
{
    int connection = connect_to(port);

    if (connection < 0 || !take(connection, length))
        give_up("port %d: %s", port, strerror(errno));
    close(connection);
}

static void once_first_byte(void *port)
{
    converse(*(uint16_t *)port, 1);
}

static void once_large(void *port)
{
    converse(*(uint16_t *)port, LARGE_BYTES);
}

static void once_in_a_row(void *port)
{
    for (int i = 0; i < IN_A_ROW; i++)
        converse(*(uint16_t *)port, 1);
}

static void await_server(uint16_t port)
{
    for (int i = 0; i < PATIENCE; i++) {
        int connection = connect_to(port);
        bool answers = connection >= 0 && take(connection, 1);
        if (connection >= 0)
            close(connection);
        if (answers)
            return;
        usleep(50000);
    }
    give_up("nobody answers on port %d", port);
}

static uint16_t free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) < 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) < 0)
        give_up("no free port: %s", strerror(errno));
    close(listener);
    return ntohs(address.sin_port);
}

static struct sandlot_forward *forward(struct sandlot_session *session)
{
    char variable[sizeof(SERVER) + 16];
    const char *const environment[] = {variable, NULL};
    char id[SANDLOT_PROCESS_ID_SIZE];
    struct sandlot_error error = {0};
    struct sandlot_start start = {
        .size = sizeof(start), .command = "exec python3 -c \"$SERVER\" 8080", .environment = environment};
    struct sandlot_forward_request request = {.size = sizeof(request), .port = INSIDE};

    snprintf(variable, sizeof(variable), "SERVER=%s", SERVER);
    if (sandlot_start_process(session, &start, id, &error) < 0)
        give_up("start: %s", error.message);
    struct sandlot_forward *forward = sandlot_forward_open(session, &request, &error);
    if (!forward)
        give_up("port: %s", error.message);
    return forward;
}

static void compare(uint16_t through, uint16_t direct)
{
    struct contender first[] = {{.once = once_first_byte, .context = &through},
                                {.once = once_first_byte, .context = &direct}};
    struct contender large[] = {{.once = once_large, .context = &through}, {.once = once_large, .context = &direct}};
    struct contender many[] = {{.once = once_in_a_row, .context = &through},
                               {.once = once_in_a_row, .context = &direct}};

    compete(first, 2, FIRST);
    row("a port of a box: first byte, less that of loopback", (first[0].median_us - first[1].median_us) / 1e3, 0.5,
        "ms", "%.0f us and %.0f us", first[0].median_us, first[1].median_us);
    compete(large, 2, LARGE);
    row("256 MiB through a port / through loopback", large[0].median_us / large[1].median_us, 2.5, "x",
        "%.0f ms and %.0f ms", large[0].median_us / 1e3, large[1].median_us / 1e3);
    compete(many, 2, LARGE);
    row("1,000 connections in a row / through loopback", many[0].median_us / many[1].median_us, 2, "x",
        "%.0f ms and %.0f ms", many[0].median_us / 1e3, many[1].median_us / 1e3);
}

static void measure_memory(uint16_t through)
{
    int connections[IDLE];
    long before = kilobytes("/proc/self/status", "VmRSS");

    for (int i = 0; i < IDLE; i++) {
        connections[i] = connect_to(through);
        if (connections[i] < 0 || !take(connections[i], 1 << 20))
            give_up("connection %d: %s", i, strerror(errno));
    }
    steady_row("memory of a connection that is open", (double)(kilobytes("/proc/self/status", "VmRSS") - before) / IDLE,
               256, "KiB", "of %d, after a MiB through each", IDLE);
    for (int i = 0; i < IDLE; i++)
        close(connections[i]);
}

void bench_ports(const struct bench *bench)
{
    struct sandlot_session *session = open_box(bench->sandlot, "local", NULL);
    struct sandlot_forward *opened = forward(session);
    uint16_t through = sandlot_forward_port(opened);
    uint16_t direct = free_port();
    char number[8];

    snprintf(number, sizeof(number), "%d", direct);
    const char *const server[] = {"/usr/bin/python3", "-c", SERVER, number, NULL};
    pid_t here = start_quietly(server);
    await_server(through);
    await_server(direct);
    compare(through, direct);
    measure_memory(through);
    kill(here, SIGKILL);
    sandlot_forward_close(opened);
    close_box(session);
}

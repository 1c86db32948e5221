/*
 * Ports: a server is started in a sandbox, and clients here reach it through the host's forwarding. Where the provider
 * has URLs too it need only carry HTTP; else any bytes, and a side that closes its half first.
 */
#include "cleanup.h"
#include "live.h"
#include "stop.h"
#include "tap.h"

#include <netdb.h>
#include <poll.h>
#include <sandlot/provider.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SERVED = 28473, NOT_SERVED = 28474, ENOUGH_MS = 60000, MANY = 1 << 20 };

/* "e" echoes what follows; "h" counts it and answers at its end; what begins as HTTP is answered with its path. */
static const char server[] =
    "exec python3 -c '\n"
    "import socket, threading\n"
    "def serve(client):\n"
    "    with client:\n"
    "        first = client.recv(1)\n"
    "        if first == b\"e\":\n"
    "            for data in iter(lambda: client.recv(65536), b\"\"): client.sendall(data)\n"
    "        elif first == b\"h\":\n"
    "            client.sendall(b\"%d\" % sum(map(len, iter(lambda: client.recv(65536), b\"\"))))\n"
    "        elif first == b\"G\":\n"
    "            head = first\n"
    "            while b\"\\r\\n\\r\\n\" not in head: head += client.recv(65536) or exit()\n"
    "            path = head.split()[1]\n"
    "            client.sendall(b\"HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: %d\\r\\n\\r\\n%s\" % "
    "(len(path), path))\n"
    "listener = socket.create_server((\"127.0.0.1\", 28473), backlog=64)\n"
    "print(\"ready\", flush=True)\n"
    "while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()'";

/* ---- a client ---------------------------------------------------------------------------------------------------- */

/* What one client sends and gets. */
struct client {
    const char *sent;
    size_t sent_length;
    bool closes_half; /* once it has sent all */
    char *got;
    size_t got_length;
    size_t capacity;   /* of GOT: no more is waited for */
    const char *ended; /* in words */
};

static int dial(uint16_t port)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;

    if (getaddrinfo("127.0.0.1", say("%u", (unsigned)port), &hints, &found) != 0)
        return -1;
    int fd = socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) < 0) {
        close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    return fd;
}

/* Sends what it can at once. */
static void send_some(struct client *client, int fd, size_t *sent)
{
    ssize_t now = send(fd, client->sent + *sent, client->sent_length - *sent, MSG_NOSIGNAL | MSG_DONTWAIT);

    *sent += now > 0 ? (size_t)now : 0;
    if (*sent == client->sent_length && client->closes_half)
        shutdown(fd, SHUT_WR);
}

/* False: that was all, or it has broken. */
static bool take_some(struct client *client, int fd)
{
    ssize_t now = recv(fd, client->got + client->got_length, client->capacity - client->got_length, MSG_DONTWAIT);

    client->got_length += now > 0 ? (size_t)now : 0;
    client->ended = now > 0 ? "there is more" : now == 0 ? "its end" : "the connection broke";
    return now > 0 && client->got_length < client->capacity;
}

/* Both ways at once, until the other side ends or has sent as much as is waited for. */
static void exchange(struct client *client, uint16_t port)
{
    AUTO_CLOSE int fd = dial(port);
    int64_t end_ms = sandlot_now_ms() + ENOUGH_MS;
    size_t sent = 0;

    client->ended = "nothing listens here";
    while (fd >= 0) {
        struct pollfd fds[] = {{fd, (short)(POLLIN | (sent < client->sent_length ? POLLOUT : 0)), 0},
                               {stop_descriptor(), POLLIN, 0}};

        client->ended = "nothing more came in a minute";
        if (sandlot_now_ms() >= end_ms || poll(fds, 2, 1000) < 0 || fds[1].revents)
            return;
        if (fds[0].revents & POLLOUT)
            send_some(client, fd, &sent);
        if (fds[0].revents & ~POLLOUT && !take_some(client, fd))
            return;
    }
}

static const char *client_shown(const struct client *client)
{
    return say("%zu bytes, '%s', then %s", client->got_length, shown(client->got, client->got_length), client->ended);
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

/* A forwarding, and what it says of connections. */
struct forwarding {
    struct sandlot_forward *forward;
    _Atomic enum sandlot_code problem; /* of a connection, the last */
};

static void on_connection(void *context, const struct sandlot_error *problem)
{
    struct forwarding *forwarding = context;

    if (problem)
        atomic_store(&forwarding->problem, problem->code);
}

static bool forward(struct sandlot_session *session, uint16_t port, struct forwarding *forwarding)
{
    const struct sandlot_forward_request request = {.size = sizeof(request),
                                                    .port = port,
                                                    .address = "127.0.0.1",
                                                    .connection = on_connection,
                                                    .context = forwarding};
    struct sandlot_error error = {0};

    forwarding->forward = sandlot_forward_open(session, &request, &error);
    if (!forwarding->forward)
        tap_check(false, "a port is forwarded", "somebody listens here", error_shown(&error), "Look at the message.");
    sandlot_error_clear(&error);
    return forwarding->forward;
}

static void check_echo(uint16_t port)
{
    AUTO_FREE char *sent = malloc(MANY + 1);
    AUTO_FREE char *got = malloc(MANY);

    if (!sent || !got)
        return;
    sent[0] = 'e';
    for (size_t i = 1; i <= MANY; i++)
        sent[i] = (char)(i * 31 + i / 251);
    struct client client = {.sent = sent, .sent_length = MANY + 1, .got = got, .capacity = MANY};

    exchange(&client, port);
    tap_check(client.got_length == MANY && memcmp(got, sent + 1, MANY) == 0, "a mebibyte both ways",
              "every byte comes back, while others are still sent",
              say("%zu bytes, then %s", client.got_length, client.ended),
              "Carry both directions side by side, bytes as they are.");
}

static void check_half(uint16_t port)
{
    char got[32];
    struct client client = {
        .sent = "hhalf", .sent_length = 5, .closes_half = true, .got = got, .capacity = sizeof(got)};

    exchange(&client, port);
    tap_check(client.got_length == 1 && got[0] == '4', "an answer after the client has closed its half",
              "'4', and the end", client_shown(&client),
              "The end of the input is a half-close: pass it on, and go on with the output.");
}

static void check_http(uint16_t port)
{
    static const char request[] = "GET /kit/of?ports HTTP/1.1\r\nHost: localhost\r\n\r\n";
    char got[4096];
    struct client client = {.sent = request, .sent_length = strlen(request), .got = got, .capacity = sizeof(got) - 1};

    exchange(&client, port);
    got[client.got_length] = '\0';
    tap_check(strncmp(got, "HTTP/1.1 200 ", 13) == 0 && strstr(got, "\r\n\r\n/kit/of?ports"),
              "a request and its answer", "status 200, and the path that was asked for", client_shown(&client),
              "Send the request to the port of the sandbox with its path as it is.");
}

/* A service with URLs may answer in its own words where nothing listens. */
static void check_refused(struct sandlot_session *session, bool has_urls)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    char got[64];
    struct client client = {.sent = request, .sent_length = strlen(request), .got = got, .capacity = 12};
    struct forwarding forwarding = {0};

    if (!forward(session, NOT_SERVED, &forwarding))
        return;
    exchange(&client, sandlot_forward_port(forwarding.forward));
    sandlot_forward_close(forwarding.forward);
    enum sandlot_code problem = atomic_load(&forwarding.problem);
    bool is_told = problem == SANDLOT_CODE_PORT_CLOSED;

    if (has_urls)
        is_told = is_told || (client.got_length == 12 && got[9] >= '4');
    tap_check(is_told && (has_urls || client.got_length == 0), "a port where nothing listens",
              "the connection ends, and it is told that nothing listens",
              say("%s; told: %s", client_shown(&client), sandlot_code_name(problem)),
              "Before `opened` fail with SANDLOT_UNAVAILABLE; call `opened` only once the server has accepted.");
}

static void check_url(struct sandlot_session *session)
{
    struct sandlot_port_url url = {.size = sizeof(url)};
    struct sandlot_error error = {0};
    bool has = sandlot_port_url(session, SERVED, 0, &url, &error) == 0;
    const char *authority = has && url.url ? strstr(url.url, "://") : NULL;

    tap_check(authority && !strchr(authority + 3, '/') && (!url.header || strstr(url.header, ": ")),
              "the URL of a port", "https://HOST, without a path; a header as \"Name: value\" or none",
              has ? say("%s", url.url ? url.url : "none") : error_shown(&error), "Tell it by `found`, once.");
    sandlot_port_url_clear(&url);
    sandlot_error_clear(&error);
}

/* ---- the server -------------------------------------------------------------------------------------------------- */

static bool note_ready(void *context, uint64_t offset, const void *bytes, size_t length)
{
    bool *ready = context;

    (void)offset;
    *ready = *ready || memmem(bytes, length, "ready", 5);
    return !*ready;
}

static bool serve(struct sandlot_session *session)
{
    struct sandlot_start start = {.size = sizeof(start), .command = server, .cancellation = stop_cancellation()};
    struct sandlot_error error = {0};
    char id[SANDLOT_PROCESS_ID_SIZE] = "";
    bool ready = false;
    struct sandlot_follow follow = {.size = sizeof(follow),
                                    .id = id,
                                    .wait_ms = ENOUGH_MS,
                                    .output = note_ready,
                                    .context = &ready,
                                    .cancellation = stop_cancellation()};

    if (sandlot_start_process(session, &start, id, &error) == 0)
        sandlot_follow_process(session, &follow, NULL, NULL, &error);
    tap_check(ready, "a server in the sandbox", "it says that it is ready", error_shown(&error),
              "Look at the group processes first.");
    sandlot_error_clear(&error);
    return ready;
}

static void check_ports(const struct kit *kit, struct sandlot_session *session)
{
    const bool has_urls = kit_has(kit, "urls");
    struct forwarding forwarding = {0};

    if (!serve(session) || !forward(session, SERVED, &forwarding))
        return;
    uint16_t port = sandlot_forward_port(forwarding.forward);

    check_http(port);
    if (!has_urls) {
        check_echo(port);
        check_half(port);
    }
    sandlot_forward_close(forwarding.forward);
    check_refused(session, has_urls);
    if (has_urls)
        check_url(session);
}

/* Is there what the server is written for? */
static bool has_python(struct sandlot_session *session)
{
    struct outcome outcome = live_run(session, "command -v python3 >/dev/null");
    bool has = outcome.ran && outcome.result.exit_code == 0;

    outcome_clear(&outcome);
    return has;
}

void group_ports(const struct kit *kit)
{
    struct live live;

    if (!kit_has(kit, "ports")) {
        tap_skip("ports", "the provider does not declare the capability ports");
        return;
    }
    if (!live_begin(&live, kit, false))
        return;
    struct sandlot_session *session = live_sandbox(&live);

    if (session && !sandlot_session_can_execute(session))
        tap_skip("ports", "the provider serves files only, so nothing can listen");
    else if (session && !has_python(session))
        tap_skip("ports", "the sandbox has no python3 for the server of these checks");
    else if (session)
        check_ports(kit, session);
    if (session)
        live_close(session, true, NULL);
    live_end(&live);
}

#include "sdk_support.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- a call ----------------------------------------------------------------------------------------------------- */

static enum sandlot_status on_fail(struct sandlot_call *call, enum sandlot_status status, const char *message)
{
    struct test_call *test = (struct test_call *)call;

    if (test->status == SANDLOT_OK) {
        test->status = status;
        snprintf(test->message, sizeof(test->message), "%s", message);
    }
    return status;
}

static void on_log(struct sandlot_call *call, enum sandlot_log_level level, const char *message)
{
    struct test_call *test = (struct test_call *)call;
    size_t used = strlen(test->log);

    snprintf(test->log + used, sizeof(test->log) - used, "%d %s\n", (int)level, message);
}

static const char *on_environment(struct sandlot_call *call, const char *name)
{
    struct test_call *test = (struct test_call *)call;

    for (const struct variable *variable = test->variables; variable && variable->name; variable++)
        if (strcmp(variable->name, name) == 0)
            return variable->value;
    return NULL;
}

void test_call_open(struct test_call *call, int64_t deadline_ms)
{
    memset(call, 0, sizeof(*call));
    if (pipe(call->cancel) != 0)
        abort();
    call->host = (struct sandlot_host){.size = sizeof(call->host),
                                       .abi_major = SANDLOT_ABI_MAJOR,
                                       .abi_minor = SANDLOT_ABI_MINOR,
                                       .fail = on_fail,
                                       .log = on_log,
                                       .environment = on_environment};
    call->call = (struct sandlot_call){.size = sizeof(call->call),
                                       .host = &call->host,
                                       .deadline_ms = deadline_ms ? sandlot_now_ms() + deadline_ms : 0,
                                       .cancel_fd = call->cancel[0]};
}

void test_call_close(struct test_call *call)
{
    close(call->cancel[0]);
    close(call->cancel[1]);
}

void test_call_cancel(struct test_call *call)
{
    if (write(call->cancel[1], "x", 1) != 1)
        abort();
}

/* ---- sinks and sources ------------------------------------------------------------------------------------------- */

uint32_t test_sum(uint32_t sum, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < length; i++)
        sum = sum * 31 + at[i];
    return sum;
}

static enum sandlot_status on_sink(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct test_sink *test = sink->context;

    if (test->keep) {
        test->bytes = realloc(test->bytes, test->length + length + 1);
        if (!test->bytes)
            abort();
        memcpy(test->bytes + test->length, bytes, length);
        test->bytes[test->length + length] = '\0';
    }
    test->sum = test_sum(test->sum, bytes, length);
    test->length += length;
    return test->stop_at && test->length >= test->stop_at ? test->answer : SANDLOT_OK;
}

void test_sink_open(struct test_sink *sink, bool keep)
{
    *sink = (struct test_sink){.sink = {.size = sizeof(sink->sink), .context = sink, .write = on_sink}, .keep = keep};
}

void test_sink_close(struct test_sink *sink)
{
    free(sink->bytes);
    sink->bytes = NULL;
}

void test_pattern(void *bytes, uint64_t at, size_t length)
{
    unsigned char *out = bytes;

    for (size_t i = 0; i < length; i++)
        out[i] = (unsigned char)((at + i) * 7 + ((at + i) >> 9));
}

static enum sandlot_status on_source(const struct sandlot_source *source, void *buffer, size_t capacity, size_t *length)
{
    struct test_source *test = source->context;
    uint64_t left = test->length - test->at;

    *length = left < capacity ? (size_t)left : capacity;
    if (test->fails_with != SANDLOT_OK && test->at >= test->fails_at)
        return test->fails_with;
    test_pattern(buffer, test->at, *length);
    test->at += *length;
    return SANDLOT_OK;
}

void test_source_open(struct test_source *source, uint64_t length)
{
    *source = (struct test_source){
        .source = {.size = sizeof(source->source), .context = source, .read = on_source, .poll_fd = -1},
        .length = length};
}

enum sandlot_status test_source_rewind(void *source)
{
    struct test_source *test = source;

    test->at = 0;
    test->rewound++;
    return SANDLOT_OK;
}

long test_peak_kib(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    long peak = -1;

    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "VmHWM: %ld", &peak) == 1)
            break;
    if (file)
        fclose(file);
    return peak;
}

/* ---- the connection ---------------------------------------------------------------------------------------------- */

static size_t raw_read(struct peer *peer, void *bytes, size_t capacity)
{
    ssize_t got;

    do
        got = peer->ssl ? SSL_read(peer->ssl, bytes, (int)capacity) : recv(peer->fd, bytes, capacity, 0);
    while (!peer->ssl && got < 0 && errno == EINTR);
    return got > 0 ? (size_t)got : 0;
}

size_t peer_read(struct peer *peer, void *bytes, size_t capacity)
{
    if (peer->ahead_length == 0)
        return raw_read(peer, bytes, capacity);
    size_t length = peer->ahead_length < capacity ? peer->ahead_length : capacity;

    memcpy(bytes, peer->ahead, length);
    memmove(peer->ahead, peer->ahead + length, peer->ahead_length - length);
    peer->ahead_length -= length;
    return length;
}

bool peer_write(struct peer *peer, const void *bytes, size_t length)
{
    const char *at = bytes;

    while (length > 0) {
        ssize_t sent = peer->ssl ? SSL_write(peer->ssl, at, (int)(length > 16384 ? 16384 : length))
                                 : send(peer->fd, at, length, MSG_NOSIGNAL);

        if (sent < 0 && !peer->ssl && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        length -= (size_t)sent;
    }
    return true;
}

bool peer_print(struct peer *peer, const char *format, ...)
{
    char text[8192];
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(text, sizeof(text), format, arguments);

    va_end(arguments);
    return peer_write(peer, text, (size_t)length);
}

/* What came behind an answer without a body would be the beginning of the next one. */
static bool has_body(const struct peer *peer, int status)
{
    return strcmp(peer->method, "HEAD") != 0 && status >= 200 && status != 204 && status != 304;
}

void peer_answer(struct peer *peer, int status, const char *headers, const char *body)
{
    if (peer_print(peer, "HTTP/1.1 %d Word\r\nContent-Length: %zu\r\n%s\r\n", status, strlen(body), headers) &&
        has_body(peer, status))
        peer_write(peer, body, strlen(body));
}

void peer_keep_head(const struct peer *peer, char *kept, size_t capacity)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    size_t length = peer->head_length < capacity ? peer->head_length : capacity - 1;

    pthread_mutex_lock(&lock);
    memcpy(kept, peer->head, length);
    kept[length] = '\0';
    pthread_mutex_unlock(&lock);
}

const char *peer_header(const struct peer *peer, const char *name)
{
    static _Thread_local char value[8192];
    size_t length = strlen(name);

    for (const char *line = peer->head; (line = strstr(line, "\r\n"));) {
        line += 2;
        if (strncasecmp(line, name, length) == 0 && line[length] == ':') {
            line += length + 1;
            line += strspn(line, " ");
            snprintf(value, sizeof(value), "%.*s", (int)strcspn(line, "\r"), line);
            return value;
        }
    }
    return "";
}

static bool read_exactly(struct peer *peer, char *bytes, size_t length)
{
    for (size_t got; length > 0; bytes += got, length -= got)
        if ((got = peer_read(peer, bytes, length)) == 0)
            return false;
    return true;
}

/* Reads LENGTH bytes of a body into what is left of BYTES. */
static uint64_t take_body(struct peer *peer, uint64_t length, char *bytes, size_t capacity, uint64_t at, uint32_t *sum)
{
    char block[65536];
    uint64_t taken = 0;

    for (size_t got; taken < length; taken += got) {
        got = peer_read(peer, block, length - taken < sizeof(block) ? (size_t)(length - taken) : sizeof(block));
        if (got == 0)
            break;
        if (sum)
            *sum = test_sum(*sum, block, got);
        if (at + taken < capacity) {
            size_t room = capacity - (size_t)(at + taken);

            memcpy(bytes + at + taken, block, got < room ? got : room);
        }
    }
    return taken;
}

uint64_t peer_body(struct peer *peer, char *bytes, size_t capacity, uint32_t *sum)
{
    uint64_t total = 0;

    if (strcasecmp(peer_header(peer, "Transfer-Encoding"), "chunked") == 0) {
        for (uint64_t length = 1; length > 0;) {
            char line[64];
            size_t used = 0;

            while (used < sizeof(line) - 1 && read_exactly(peer, line + used, 1) && line[used] != '\n')
                used++;
            line[used] = '\0';
            length = strtoull(line, NULL, 16);
            uint64_t taken = take_body(peer, length, bytes, capacity, total, sum);

            total += taken;
            if (taken < length || !read_exactly(peer, line, 2))
                break;
        }
    } else {
        total = take_body(peer, strtoull(peer_header(peer, "Content-Length"), NULL, 10), bytes, capacity, 0, sum);
    }
    if (bytes && capacity > 0)
        bytes[total < capacity ? total : capacity - 1] = '\0';
    return total;
}

void peer_sleep(struct peer *peer, int milliseconds)
{
    for (; milliseconds > 0 && !peer->server->stopping; milliseconds -= 10)
        usleep(10000);
}

/* ---- the server -------------------------------------------------------------------------------------------------- */

static bool read_head(struct peer *peer)
{
    peer->head_length = 0;
    for (;;) {
        size_t got = peer_read(peer, peer->head + peer->head_length, sizeof(peer->head) - 1 - peer->head_length);

        if (got == 0)
            return false;
        peer->head_length += got;
        peer->head[peer->head_length] = '\0';
        char *end = memmem(peer->head, peer->head_length, "\r\n\r\n", 4);

        if (!end)
            continue;
        size_t length = (size_t)(end - peer->head) + 4;

        peer->ahead_length = peer->head_length - length;
        if (peer->ahead_length > sizeof(peer->ahead))
            abort();
        memcpy(peer->ahead, peer->head + length, peer->ahead_length);
        peer->head[length] = '\0';
        peer->head_length = length;
        return sscanf(peer->head, "%15s %2047s", peer->method, peer->target) == 2;
    }
}

static void *serve(void *context)
{
    struct peer *peer = context;
    struct server *server = peer->server;
    bool ready = true;

    if (server->tls) {
        peer->ssl = SSL_new(server->tls);
        SSL_set_fd(peer->ssl, peer->fd);
        ready = SSL_accept(peer->ssl) == 1;
    }
    while (ready && !peer->close && read_head(peer)) {
        peer->number++;
        server->requests++;
        server->handler(peer);
    }
    if (peer->ssl) {
        SSL_shutdown(peer->ssl);
        SSL_free(peer->ssl);
    }
    close(peer->fd);
    free(peer);
    server->active--;
    return NULL;
}

static void *accept_all(void *context)
{
    struct server *server = context;

    for (;;) {
        struct pollfd listening = {server->fd, POLLIN, 0};

        if (server->stopping)
            return NULL;
        if (poll(&listening, 1, 20) <= 0)
            continue;
        int fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC);
        struct peer *peer = fd >= 0 ? calloc(1, sizeof(*peer)) : NULL;
        struct timeval limit = {20, 0}; /* no test waits longer */
        int on = 1;
        pthread_t thread;

        if (!peer)
            continue;
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        peer->server = server;
        peer->fd = fd;
        server->connections++;
        server->active++;
        if (pthread_create(&thread, NULL, serve, peer) != 0)
            abort();
        pthread_detach(thread);
    }
}

void server_open(struct server *server, server_handler handler, SSL_CTX *tls)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);

    memset(server, 0, sizeof(*server));
    signal(SIGPIPE, SIG_IGN); /* SSL_write knows no MSG_NOSIGNAL */
    server->handler = handler;
    server->tls = tls;
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server->fd < 0 || bind(server->fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(server->fd, 64) != 0 || getsockname(server->fd, (struct sockaddr *)&address, &size) != 0)
        abort();
    server->port = ntohs(address.sin_port);
    snprintf(server->url, sizeof(server->url), "%s://%s:%d", tls ? "https" : "http", tls ? "localhost" : "127.0.0.1",
             server->port);
    if (pthread_create(&server->thread, NULL, accept_all, server) != 0)
        abort();
}

void server_close(struct server *server)
{
    server->stopping = true;
    pthread_join(server->thread, NULL);
    close(server->fd);
    for (int i = 0; i < 3000 && server->active > 0; i++)
        usleep(10000);
    if (server->active > 0)
        abort(); /* a client has left a connection open */
}

#include "sdk_grpc_server.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* One connection, with one request at a time. */
struct connection {
    struct grpc_server *server;
    int fd;
    SSL *ssl;
    nghttp2_session *session;
    struct grpc_reply reply; /* of its own: a test may be over while the rest of its answer is sent */
    size_t at;               /* of the body */
    size_t sent;
    bool interrupted; /* by a block of headers */
};

/* ---- bytes ------------------------------------------------------------------------------------------------------ */

static bool put(struct connection *connection, const void *bytes, size_t length)
{
    const char *at = bytes;

    while (length > 0) {
        ssize_t done = connection->ssl ? SSL_write(connection->ssl, at, (int)length)
                                       : send(connection->fd, at, length, MSG_NOSIGNAL);
        if (done <= 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += done;
        length -= (size_t)done;
        connection->sent += (size_t)done;
    }
    return true;
}

/* Sends what the session has, up to where it is to be cut. */
static bool flush(struct connection *connection)
{
    const uint8_t *bytes;
    ssize_t length;

    while ((length = nghttp2_session_mem_send(connection->session, &bytes)) > 0) {
        const struct grpc_reply *reply = &connection->reply;
        size_t piece = (size_t)length;

        if (reply->cut && connection->sent + piece >= reply->cut_at) {
            put(connection, bytes, reply->cut_at > connection->sent ? reply->cut_at - connection->sent : 0);
            return false;
        }
        if (!put(connection, bytes, piece))
            return false;
    }
    return length == 0;
}

static ssize_t take(struct connection *connection, void *bytes, size_t capacity)
{
    while (!connection->server->stopping) {
        struct pollfd ready = {connection->fd, POLLIN, 0};
        bool pending = connection->ssl && SSL_pending(connection->ssl) > 0;

        if (!pending && poll(&ready, 1, 50) == 0)
            continue;
        return connection->ssl ? SSL_read(connection->ssl, bytes, (int)capacity)
                               : recv(connection->fd, bytes, capacity, 0);
    }
    return 0;
}

static void nap(const struct connection *connection, int milliseconds)
{
    struct pollfd gone = {connection->fd, POLLRDHUP, 0};

    for (; milliseconds > 0 && !connection->server->stopping; milliseconds -= 20)
        if (poll(&gone, 1, 20) > 0)
            return;
}

/* ---- answers ---------------------------------------------------------------------------------------------------- */

static nghttp2_nv pair(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE};
}

static size_t add_verdict(const struct grpc_reply *reply, nghttp2_nv *list, size_t count)
{
    if (reply->code)
        list[count++] = pair("grpc-status", reply->code);
    if (reply->text)
        list[count++] = pair("grpc-message", reply->text);
    if (reply->details)
        list[count++] = pair("grpc-status-details-bin", reply->details);
    return count;
}

static ssize_t read_body(nghttp2_session *session, int32_t stream, uint8_t *buffer, size_t capacity, uint32_t *flags,
                         nghttp2_data_source *source, void *context)
{
    struct connection *connection = context;
    const struct grpc_reply *reply = &connection->reply;
    size_t left = reply->length - connection->at;
    size_t piece = reply->piece && reply->piece < capacity ? reply->piece : capacity;
    nghttp2_nv trailers[3];
    size_t count = add_verdict(reply, trailers, 0);

    (void)source;
    nap(connection, reply->pause_ms);
    piece = left < piece ? left : piece;
    if (piece > 0)
        memcpy(buffer, (const char *)reply->body + connection->at, piece);
    connection->at += piece;
    if (reply->middle && connection->at < reply->length && !connection->interrupted) {
        const nghttp2_nv block = pair("grpc-status", reply->middle);

        connection->interrupted = true;
        nghttp2_submit_headers(session, NGHTTP2_FLAG_NONE, stream, NULL, &block, 1, NULL);
    }
    if (connection->at < reply->length)
        return (ssize_t)piece;
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (reply->reset) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream, reply->reset);
        return (ssize_t)piece;
    }
    if (count > 0) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        nghttp2_submit_trailer(session, stream, trailers, count);
    }
    return (ssize_t)piece;
}

static void answer(struct connection *connection, int32_t stream)
{
    struct grpc_server *server = connection->server;
    size_t number = (size_t)server->requests++;
    const struct grpc_reply *reply = &connection->reply;
    nghttp2_data_provider body = {.read_callback = read_body};
    char status[16];
    char name[64] = "";
    nghttp2_nv headers[6];
    size_t count = 0;

    connection->reply = server->replies[number < server->reply_count ? number : server->reply_count - 1];
    connection->at = 0;
    connection->interrupted = false;
    nap(connection, reply->delay_ms);
    snprintf(status, sizeof(status), "%d", reply->status ? reply->status : 200);
    headers[count++] = pair(":status", status);
    headers[count++] = pair("content-type", reply->type ? reply->type : "application/grpc");
    if (reply->header) {
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(reply->header, ":"), reply->header);
        headers[count++] = pair(name, reply->header + strlen(name) + 2);
    }
    if (!reply->body)
        count = add_verdict(reply, headers, count);
    nghttp2_submit_response(connection->session, stream, headers, count, reply->body ? &body : NULL);
    if (reply->goodbye)
        nghttp2_submit_goaway(connection->session, NGHTTP2_FLAG_NONE, stream, NGHTTP2_NO_ERROR, NULL, 0);
    if (reply->early) {
        flush(connection);
        nghttp2_submit_rst_stream(connection->session, NGHTTP2_FLAG_NONE, stream, NGHTTP2_NO_ERROR);
    }
}

/* ---- requests --------------------------------------------------------------------------------------------------- */

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
                     const uint8_t *value, size_t length, uint8_t flags, void *context)
{
    struct grpc_server *server = ((struct connection *)context)->server;

    (void)session;
    (void)frame;
    (void)flags;
    pthread_mutex_lock(&server->lock);
    if (server->head_length + name_length + length + 4 < sizeof(server->head))
        server->head_length += (size_t)sprintf(server->head + server->head_length, "%.*s: %.*s\n", (int)name_length,
                                               (const char *)name, (int)length, (const char *)value);
    pthread_mutex_unlock(&server->lock);
    return 0;
}

static const struct grpc_reply *next_reply(const struct grpc_server *server)
{
    size_t number = (size_t)server->requests;

    return &server->replies[number < server->reply_count ? number : server->reply_count - 1];
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    struct connection *connection = context;
    bool ended = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    bool head = frame->hd.type == NGHTTP2_HEADERS;

    (void)session;
    if (head)
        connection->server->body_length = 0;
    if (head && next_reply(connection->server)->early)
        answer(connection, frame->hd.stream_id);
    else if (ended && (head || frame->hd.type == NGHTTP2_DATA) && !connection->reply.early)
        answer(connection, frame->hd.stream_id);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data, size_t length,
                   void *context)
{
    (void)session;
    (void)flags;
    (void)stream;
    (void)data;
    ((struct connection *)context)->server->body_length += length;
    return 0;
}

static void serve(struct connection *connection)
{
    nghttp2_session_callbacks *callbacks;
    static uint8_t bytes[65536];
    ssize_t got;

    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_server_new(&connection->session, callbacks, connection);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(connection->session, NGHTTP2_FLAG_NONE, NULL, 0);
    while (flush(connection) && (got = take(connection, bytes, sizeof(bytes))) > 0)
        if (nghttp2_session_mem_recv(connection->session, bytes, (size_t)got) < 0)
            break;
    nghttp2_session_del(connection->session);
}

/* ---- connections ------------------------------------------------------------------------------------------------ */

static int choose_protocol(SSL *ssl, const unsigned char **chosen, unsigned char *length, const unsigned char *offered,
                           unsigned int offered_length, void *context)
{
    static const unsigned char wanted[] = "\x02h2";

    (void)ssl;
    (void)context;
    return SSL_select_next_proto((unsigned char **)chosen, length, wanted, 3, offered, offered_length) ==
                   OPENSSL_NPN_NEGOTIATED
               ? SSL_TLSEXT_ERR_OK
               : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* One connection after the other: no test has two at a time. */
static void *accept_all(void *context)
{
    struct grpc_server *server = context;
    int yes = 1;

    while (!server->stopping) {
        struct pollfd ready = {server->fd, POLLIN, 0};

        if (poll(&ready, 1, 50) <= 0)
            continue;
        struct connection connection = {.server = server, .fd = accept(server->fd, NULL, NULL)};

        if (connection.fd < 0)
            continue;
        setsockopt(connection.fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
        server->connections++;
        connection.ssl = server->tls ? SSL_new(server->tls) : NULL;
        if (connection.ssl)
            SSL_set_fd(connection.ssl, connection.fd);
        if (!connection.ssl || SSL_accept(connection.ssl) == 1)
            serve(&connection);
        server->sent = connection.sent;
        SSL_free(connection.ssl);
        close(connection.fd);
    }
    return NULL;
}

void grpc_server_open(struct grpc_server *server, SSL_CTX *tls)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);

    *server = (struct grpc_server){.tls = tls, .lock = PTHREAD_MUTEX_INITIALIZER};
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert(server->fd >= 0 && bind(server->fd, (struct sockaddr *)&address, size) == 0 && listen(server->fd, 64) == 0 &&
           getsockname(server->fd, (struct sockaddr *)&address, &size) == 0);
    snprintf(server->url, sizeof(server->url), "%s://127.0.0.1:%d", tls ? "https" : "http", ntohs(address.sin_port));
    if (tls)
        SSL_CTX_set_alpn_select_cb(tls, choose_protocol, NULL);
    assert(pthread_create(&server->thread, NULL, accept_all, server) == 0);
}

void grpc_server_close(struct grpc_server *server)
{
    server->stopping = true;
    pthread_join(server->thread, NULL);
    close(server->fd);
}

void grpc_server_script(struct grpc_server *server, const struct grpc_reply *replies, size_t count)
{
    pthread_mutex_lock(&server->lock);
    server->replies = replies;
    server->reply_count = count;
    server->requests = 0;
    server->connections = 0;
    server->sent = 0;
    server->head_length = 0;
    server->head[0] = '\0';
    pthread_mutex_unlock(&server->lock);
}

int grpc_server_count(struct grpc_server *server, const char *line)
{
    size_t length = strlen(line);
    int count = 0;

    pthread_mutex_lock(&server->lock);
    for (const char *at = server->head; (at = strstr(at, line)); at += length)
        count += (at == server->head || at[-1] == '\n') && (at[length] == '\n' || line[length - 1] == ' ');
    pthread_mutex_unlock(&server->lock);
    return count;
}

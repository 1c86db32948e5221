/* Frames, masks and fragments are wslay's; the connection is one that http_raw.c has taken over. */
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/websocket.h>

#include "http_raw.h"
#include "websocket_handshake.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <wslay/wslay.h>

enum {
    GOODBYE_MS = 2000,
    NO_CODE = 1005,
    READS_AT_ONCE = 64,      /* then it is time for a look at the clock */
    MOST_QUEUED = 64,        /* pongs that the other side does not take */
    MOST_FRAGMENTS = 1 << 16 /* of one message: each costs memory, however short */
};

/* A message that has come. */
struct arrived {
    struct arrived *next;
    enum websocket_kind kind;
    size_t length;
    char bytes[];
};

struct websocket {
    struct http_raw raw;
    char *protocol;

    pthread_mutex_t lock; /* of what follows, and of the connection's bytes */
    wslay_event_context_ptr context;
    struct arrived *first;
    struct arrived **last;
    struct arrived *shown_message; /* lent to the caller */
    bool closed;                   /* by the other side, and said */
    int close_code;
    int reads_left;     /* of the look at hand */
    int fragments;      /* of the message at hand */
    bool broken;        /* without a word */
    bool posting;       /* what was posted has not gone yet */
    bool out_of_memory; /* a message was lost: none behind it may pass for the next one */
};

/* ---- wslay's callbacks ------------------------------------------------------------------------------------------- */

static bool answers_pile_up(const struct websocket *socket)
{
    return wslay_event_get_queued_msg_count(socket->context) > MOST_QUEUED;
}

static ssize_t on_recv(wslay_event_context_ptr context, uint8_t *buffer, size_t capacity, int flags, void *data)
{
    struct websocket *socket = data;
    size_t length = 0;

    (void)flags;
    /* One message at a time, and none while answers pile up, or a server could fill the memory. */
    if (socket->first || socket->reads_left == 0 || answers_pile_up(socket)) {
        wslay_event_set_error(context, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    socket->reads_left--;
    CURLcode code = http_raw_receive(&socket->raw, buffer, capacity, &length);

    if (code == CURLE_OK && length > 0)
        return (ssize_t)length;
    socket->broken = socket->broken || code != CURLE_AGAIN;
    wslay_event_set_error(context, code == CURLE_AGAIN ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
}

static ssize_t on_send(wslay_event_context_ptr context, const uint8_t *bytes, size_t length, int flags, void *data)
{
    struct websocket *socket = data;
    size_t sent = 0;

    (void)flags;
    CURLcode code = http_raw_send(&socket->raw, bytes, length, &sent);

    if (code == CURLE_OK && sent > 0)
        return (ssize_t)sent;
    socket->broken = socket->broken || (code != CURLE_OK && code != CURLE_AGAIN);
    wslay_event_set_error(context, socket->broken ? WSLAY_ERR_CALLBACK_FAILURE : WSLAY_ERR_WOULDBLOCK);
    return -1;
}

static int on_mask(wslay_event_context_ptr context, uint8_t *buffer, size_t length, void *data)
{
    (void)context;
    (void)data;
    return getrandom(buffer, length, 0) == (ssize_t)length ? 0 : -1;
}

static void on_frame(wslay_event_context_ptr context, const struct wslay_event_on_frame_recv_start_arg *frame,
                     void *data)
{
    struct websocket *socket = data;

    if (wslay_is_ctrl_frame(frame->opcode))
        return;
    socket->fragments = frame->fin ? 0 : socket->fragments + 1;
    if (socket->fragments > MOST_FRAGMENTS)
        wslay_event_shutdown_read(context);
}

static void on_message(wslay_event_context_ptr context, const struct wslay_event_on_msg_recv_arg *message, void *data)
{
    struct websocket *socket = data;

    (void)context;
    if (socket->out_of_memory)
        return;
    if (message->opcode == WSLAY_CONNECTION_CLOSE) {
        socket->closed = true;
        socket->close_code = message->status_code ? message->status_code : NO_CODE;
        return;
    }
    if (message->opcode != WSLAY_TEXT_FRAME && message->opcode != WSLAY_BINARY_FRAME)
        return;
    struct arrived *arrived = malloc(sizeof(*arrived) + message->msg_length + 1);

    if (!arrived) {
        socket->out_of_memory = true;
        return;
    }
    arrived->next = NULL;
    arrived->kind = message->opcode == WSLAY_TEXT_FRAME ? WEBSOCKET_TEXT : WEBSOCKET_BINARY;
    arrived->length = message->msg_length;
    if (message->msg_length > 0)
        memcpy(arrived->bytes, message->msg, message->msg_length);
    arrived->bytes[arrived->length] = '\0';
    *socket->last = arrived;
    socket->last = &arrived->next;
}

/* ---- connecting -------------------------------------------------------------------------------------------------- */

static enum sandlot_status fail(struct sandlot_call *call, struct websocket *socket, enum sandlot_status status,
                                const char *what)
{
    return http_raw_fail(call, &socket->raw, status, what);
}

static char *make_hello(struct websocket *socket, const struct websocket_request *wanted, const char *url,
                        const struct curl_slist *headers, char key[HANDSHAKE_KEY])
{
    AUTO_FREE char *own = handshake_key(key) ? handshake_headers(key, wanted->protocols) : NULL;

    return own ? http_raw_head("GET", url, headers, socket->raw.client->user_agent, own) : NULL;
}

static enum sandlot_status shake_hands(struct sandlot_call *call, struct websocket *socket,
                                       const struct websocket_request *wanted, const struct http_request *request,
                                       const char *url)
{
    struct http_raw *raw = &socket->raw;
    enum sandlot_status status = SANDLOT_OK;
    struct curl_slist *headers = http_headers(call, raw->client, request, url, &status);
    char key[HANDSHAKE_KEY];
    AUTO_FREE char *hello = status == SANDLOT_OK ? make_hello(socket, wanted, url, headers, key) : NULL;
    size_t head_length = 0;

    curl_slist_free_all(headers);
    if (!hello)
        return status != SANDLOT_OK ? status : fail(call, socket, SANDLOT_INTERNAL, "there is not enough memory");
    status = http_raw_exchange(call, raw, hello, NULL, 0, &head_length);
    if (status != SANDLOT_OK)
        return status;
    int answered = http_raw_status(raw->early.bytes);

    if (answered != 0 && answered != 101)
        return http_raw_refuse(call, raw, request, wanted->answer, url, answered, head_length);
    if (!handshake_accepted(raw->early.bytes, head_length, key, wanted->protocols, &socket->protocol))
        return fail(call, socket, SANDLOT_INTERNAL, "the answer to the handshake is none of WebSocket");
    return http_raw_hand_over(raw, url, answered, head_length, wanted->answer)
               ? SANDLOT_OK
               : fail(call, socket, SANDLOT_INTERNAL, "there is not enough memory");
}

/* ws and wss are http and https to libcurl. */
static char *http_url(const struct http_client *client, const char *target)
{
    if (strncasecmp(target, "ws://", 5) == 0)
        return sdk_format("http%s", target + 2);
    if (strncasecmp(target, "wss://", 6) == 0)
        return sdk_format("https%s", target + 3);
    return http_absolute(client, target);
}

static enum sandlot_status open_with(struct sandlot_call *call, struct websocket *socket,
                                     const struct websocket_request *wanted, const char *url)
{
    static const struct wslay_event_callbacks callbacks = {on_recv, on_send, on_mask, on_frame, NULL, NULL, on_message};
    const struct http_request request = {
        .method = "GET", .target = *wanted->target == '/' ? wanted->target : url, .headers = wanted->headers};
    enum sandlot_status status = http_raw_connect(call, &socket->raw, url);

    if (status == SANDLOT_OK)
        status = shake_hands(call, socket, wanted, &request, url);
    if (status != SANDLOT_OK)
        return status;
    if (wslay_event_context_client_init(&socket->context, &callbacks, socket) != 0) {
        socket->context = NULL;
        return fail(call, socket, SANDLOT_INTERNAL, "there is not enough memory");
    }
    wslay_event_config_set_max_recv_msg_length(socket->context, wanted->limit ? wanted->limit : HTTP_DEFAULT_LIMIT);
    return SANDLOT_OK;
}

enum sandlot_status websocket_open(struct sandlot_call *call, struct http_client *client,
                                   const struct websocket_request *request, struct websocket **socket)
{
    struct websocket *made = calloc(1, sizeof(*made));
    AUTO_FREE char *url = request->target ? http_url(client, request->target) : NULL;
    bool ready = false;

    *socket = NULL;
    if (made) {
        made->last = &made->first;
        pthread_mutex_init(&made->lock, NULL);
        ready = url && http_raw_init(&made->raw, client, "WebSocket", url);
    }
    if (!ready) {
        websocket_free(made);
        return http_fail(call, client, request->target ? SANDLOT_INTERNAL : SANDLOT_INVALID_ARGUMENT,
                         "a WebSocket to %s could not be made: %s", client->service,
                         request->target ? "there is not enough memory; free some"
                                         : "there is no address; check the id");
    }
    enum sandlot_status status = open_with(call, made, request, url);

    if (status == SANDLOT_OK)
        *socket = made;
    else
        websocket_free(made);
    return status;
}

const char *websocket_protocol(const struct websocket *socket)
{
    return socket->protocol;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* Sends what is to be sent, as far as that goes without waiting. */
static void flush(struct websocket *socket)
{
    if (wslay_event_send(socket->context) != 0)
        socket->broken = true;
}

static enum sandlot_status unusable(struct sandlot_call *call, struct websocket *socket)
{
    if (socket->out_of_memory)
        return fail(call, socket, SANDLOT_INTERNAL, "there is not enough memory for a message");
    return fail(call, socket, SANDLOT_UNAVAILABLE,
                socket->closed ? "the other side has closed it" : "the connection has broken");
}

/* Waits until the queue is empty. Called and left with the lock held. */
static enum sandlot_status drain(struct sandlot_call *call, struct websocket *socket)
{
    for (flush(socket); wslay_event_want_write(socket->context) && !socket->broken; flush(socket)) {
        pthread_mutex_unlock(&socket->lock);
        enum sandlot_status status = http_raw_wait(call, socket->raw.fd, POLLOUT, -1);

        pthread_mutex_lock(&socket->lock);
        if (status != SANDLOT_OK)
            return http_raw_fail_wait(call, &socket->raw, status);
    }
    return socket->broken ? unusable(call, socket) : SANDLOT_OK;
}

/* Puts a message behind those that wait. Called and left with the lock held. */
static enum sandlot_status queue(struct sandlot_call *call, struct websocket *socket, enum websocket_kind kind,
                                 const void *bytes, size_t length)
{
    uint8_t opcode = kind == WEBSOCKET_PING   ? WSLAY_PING
                     : kind == WEBSOCKET_TEXT ? WSLAY_TEXT_FRAME
                                              : WSLAY_BINARY_FRAME;
    const struct wslay_event_msg message = {opcode, bytes, length};
    bool sendable = kind == WEBSOCKET_BINARY || (kind == WEBSOCKET_TEXT && sdk_utf8_valid(bytes, length)) ||
                    (kind == WEBSOCKET_PING && length <= 125);

    if (!sendable)
        return fail(call, socket, SANDLOT_INVALID_ARGUMENT, "the message to send is no text, or no ping");
    int queued = wslay_event_queue_msg(socket->context, &message);

    if (queued == WSLAY_ERR_NOMEM)
        return fail(call, socket, SANDLOT_INTERNAL, "there is not enough memory for a message");
    return queued == 0 ? SANDLOT_OK : unusable(call, socket);
}

enum sandlot_status websocket_send(struct sandlot_call *call, struct websocket *socket, enum websocket_kind kind,
                                   const void *bytes, size_t length)
{
    pthread_mutex_lock(&socket->lock);
    enum sandlot_status status = queue(call, socket, kind, bytes, length);

    if (status == SANDLOT_OK)
        status = drain(call, socket);
    pthread_mutex_unlock(&socket->lock);
    return status;
}

enum sandlot_status websocket_post(struct sandlot_call *call, struct websocket *socket, enum websocket_kind kind,
                                   const void *bytes, size_t length)
{
    pthread_mutex_lock(&socket->lock);
    enum sandlot_status status = queue(call, socket, kind, bytes, length);

    if (status == SANDLOT_OK)
        flush(socket);
    socket->posting = wslay_event_want_write(socket->context);
    pthread_mutex_unlock(&socket->lock);
    return status;
}

/* What was posted has gone, and nobody has heard of it yet. */
static bool has_posted(struct websocket *socket)
{
    bool gone = socket->posting && !wslay_event_want_write(socket->context);

    socket->posting = socket->posting && !gone;
    return gone;
}

bool websocket_is_posting(struct websocket *socket)
{
    pthread_mutex_lock(&socket->lock);
    bool posting = !has_posted(socket) && socket->posting;

    pthread_mutex_unlock(&socket->lock);
    return posting;
}

/* wslay goes on behind a message for which it had no memory, as if that had never come. */
static void receive(struct websocket *socket)
{
    int received = wslay_event_recv(socket->context);

    socket->out_of_memory = socket->out_of_memory || received == WSLAY_ERR_NOMEM;
    socket->broken = socket->broken || received != 0;
}

/* Reads what is there, or a part of it. False: nothing to hand out yet. */
static bool look(struct websocket *socket)
{
    socket->reads_left = READS_AT_ONCE;
    if (!socket->first && !socket->closed && !socket->out_of_memory)
        receive(socket);
    if (wslay_event_want_write(socket->context))
        flush(socket); /* pongs, and the answer to a close */
    return socket->first || socket->closed || socket->broken || socket->out_of_memory ||
           !wslay_event_get_read_enabled(socket->context);
}

static enum sandlot_status hand_out(struct sandlot_call *call, struct websocket *socket,
                                    struct websocket_message *message)
{
    struct arrived *arrived = socket->first;

    if (arrived) {
        socket->first = arrived->next;
        if (!socket->first)
            socket->last = &socket->first;
        socket->shown_message = arrived;
        *message = (struct websocket_message){arrived->kind, arrived->bytes, arrived->length, 0};
        return SANDLOT_OK;
    }
    if (socket->closed) {
        *message = (struct websocket_message){WEBSOCKET_CLOSED, "", 0, socket->close_code};
        return SANDLOT_OK;
    }
    if (socket->broken || socket->out_of_memory)
        return unusable(call, socket);
    return fail(call, socket, SANDLOT_INTERNAL,
                wslay_event_get_status_code_sent(socket->context) == WSLAY_CODE_MESSAGE_TOO_BIG
                    ? "a message is longer than it may be"
                    : "the other side does not keep the rules of WebSocket");
}

/* What to wait for before the next look. There may be more to read of which TLS knows and the kernel does not: then the
 * wait ends at once, because the socket can be written to. */
static short awaited(const struct websocket *socket)
{
    if (answers_pile_up(socket))
        return POLLOUT;
    return socket->reads_left == 0 || wslay_event_want_write(socket->context) ? POLLIN | POLLOUT : POLLIN;
}

enum sandlot_status websocket_receive(struct sandlot_call *call, struct websocket *socket, int wake_fd,
                                      struct websocket_message *message)
{
    struct pollfd wake = {wake_fd, POLLIN, 0};
    bool ready;

    *message = (struct websocket_message){0};
    pthread_mutex_lock(&socket->lock);
    free(socket->shown_message);
    socket->shown_message = NULL;
    while (!(ready = look(socket)) && !has_posted(socket)) {
        short events = awaited(socket);

        pthread_mutex_unlock(&socket->lock);
        enum sandlot_status status = http_raw_wait(call, socket->raw.fd, events, wake_fd);

        if (status != SANDLOT_OK)
            return http_raw_fail_wait(call, &socket->raw, status);
        if (wake_fd >= 0 && poll(&wake, 1, 0) > 0)
            return SANDLOT_OK;
        pthread_mutex_lock(&socket->lock);
    }
    enum sandlot_status status = ready ? hand_out(call, socket, message) : SANDLOT_OK;

    pthread_mutex_unlock(&socket->lock);
    return status;
}

void websocket_close(struct sandlot_call *call, struct websocket *socket, int code, const char *reason)
{
    int64_t end_ms = sandlot_now_ms() + GOODBYE_MS;

    if (!socket)
        return;
    if (!socket->closed && !socket->broken &&
        wslay_event_queue_close(socket->context, (uint16_t)code, (const uint8_t *)reason, strlen(reason)) == 0) {
        while (!socket->closed && !socket->broken && sandlot_now_ms() < end_ms) {
            struct sandlot_call goodbye = *call;

            if (goodbye.deadline_ms == 0 || goodbye.deadline_ms > end_ms)
                goodbye.deadline_ms = end_ms;
            while (socket->first) { /* nobody reads these any more */
                struct arrived *next = socket->first->next;

                free(socket->first);
                socket->first = next;
            }
            socket->last = &socket->first;

            if (look(socket) && !socket->first)
                break;
            if (!socket->first && http_raw_wait(&goodbye, socket->raw.fd, awaited(socket), -1) != SANDLOT_OK)
                break;
        }
    }
    websocket_free(socket);
}

void websocket_free(struct websocket *socket)
{
    if (!socket)
        return;
    if (socket->context)
        wslay_event_context_free(socket->context);
    while (socket->first) {
        struct arrived *next = socket->first->next;

        free(socket->first);
        socket->first = next;
    }
    http_raw_clear(&socket->raw);
    free(socket->shown_message);
    free(socket->protocol);
    pthread_mutex_destroy(&socket->lock);
    free(socket);
}

/*
 * The module: libmicrohttpd with a thread per connection, which may therefore wait. How long a connection may take for
 * its next step is watched here, for the library knows only silence, and would count that of a long command.
 */
#include "base/cleanup.h"
#include "base/text.h"
#include "server/http/exchange.h"
#include "server/http/module.h"
#include "server/http/request.h"

#include <microhttpd.h>
#include <poll.h>
#include <sandlot/provider.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum {
    MOST_CONNECTIONS = 256,        /* more are refused */
    MANY_CONNECTIONS = 224,        /* from here on a new one takes the place of one that is idle */
    CONNECTION_MEMORY = 32 * 1024, /* bounds the header, too */
    STACK = 1024 * 1024,
    HEADER_MS = 30 * 1000, /* from the connection, or the last answer, to the end of the next header */
    BODY_MS = 120 * 1000,
    WRITE_MS = 60 * 1000,        /* for the client to take what is sent to it */
    JSON_MS = 1000,              /* how long an answer may take that is sent as JSON */
    COMMENT_MS = 15 * 1000,      /* between two signs of life in an event stream */
    LOOK_MS = 500,               /* between two looks at the deadlines */
    FAREWELL_MS = 500,           /* for the last answers */
    MOST_THROWN_AWAY = 64 << 20, /* of a body that is refused: a client that still sends does not read why */
    EVENT_BLOCK = 16 * 1024
};

struct connection {
    struct connection *next;
    struct connection **at;
    struct http *http;
    int fd;
    int64_t deadline_ms; /* 0: none */
    bool idle;           /* between two requests, or with one that is refused */
};

struct http {
    const struct http_host *host;
    const struct http_options *options;
    struct MHD_Daemon *daemon;
    struct peer peer;
    pthread_mutex_t lock; /* for the connections */
    struct connection *connections;
    size_t connection_count;
    atomic_size_t exchanges; /* under way */
    _Atomic int64_t last_message_ms;
};

/* ---- connections ------------------------------------------------------------------------------------------------- */

static void set_step(struct connection *connection, int64_t timeout_ms, bool idle)
{
    pthread_mutex_lock(&connection->http->lock);
    connection->idle = idle;
    connection->deadline_ms = timeout_ms ? sandlot_now_ms() + timeout_ms : 0;
    pthread_mutex_unlock(&connection->http->lock);
}

/* The next step of the connection must be done within TIMEOUT_MS; 0: it takes what it takes. */
static void set_deadline(struct connection *connection, int64_t timeout_ms)
{
    set_step(connection, timeout_ms, false);
}

/* It may go for another one, and must when it does nothing for long: so who has no token holds no place of those who
 * have. */
static void rest(struct connection *connection)
{
    set_step(connection, HEADER_MS, true);
}

/* With the lock held: ends the one that has been idle for longest. */
static void end_idlest(struct http *http)
{
    struct connection *idlest = NULL;

    for (struct connection *connection = http->connections; connection; connection = connection->next)
        if (connection->idle && (!idlest || connection->deadline_ms <= idlest->deadline_ms))
            idlest = connection;
    if (!idlest)
        return;
    idlest->idle = false;
    shutdown(idlest->fd, SHUT_RDWR);
}

static void add_connection(struct http *http, struct MHD_Connection *handle, void **context)
{
    struct connection *connection = calloc(1, sizeof(*connection));

    *context = connection;
    if (!connection)
        return;
    connection->http = http;
    connection->fd = MHD_get_connection_info(handle, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    connection->deadline_ms = sandlot_now_ms() + HEADER_MS;
    connection->idle = true;
    pthread_mutex_lock(&http->lock);
    if (++http->connection_count > MANY_CONNECTIONS)
        end_idlest(http);
    connection->next = http->connections;
    connection->at = &http->connections;
    if (connection->next)
        connection->next->at = &connection->next;
    http->connections = connection;
    pthread_mutex_unlock(&http->lock);
}

static void remove_connection(struct http *http, struct connection *connection)
{
    if (!connection)
        return;
    pthread_mutex_lock(&http->lock);
    http->connection_count--;
    *connection->at = connection->next;
    if (connection->next)
        connection->next->at = connection->at;
    pthread_mutex_unlock(&http->lock);
    free(connection);
}

/* The socket is open for as long as the connection is in the list. */
static void on_connection(void *argument, struct MHD_Connection *handle, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        add_connection(argument, handle, context);
    else
        remove_connection(argument, *context);
}

/* Ends the connections whose time is over by NOW_MS; INT64_MAX: all of them. */
static void end_connections(struct http *http, int64_t now_ms)
{
    pthread_mutex_lock(&http->lock);
    for (const struct connection *connection = http->connections; connection; connection = connection->next)
        if (now_ms == INT64_MAX || (connection->deadline_ms && connection->deadline_ms <= now_ms))
            shutdown(connection->fd, SHUT_RDWR);
    pthread_mutex_unlock(&http->lock);
}

/* ---- header fields ----------------------------------------------------------------------------------------------- */

static void keep_single(struct http_fields *fields, char **field, const char *value)
{
    fields->repeated = fields->repeated || *field;
    free(*field);
    *field = strdup(value);
}

static enum MHD_Result keep_field(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct http_fields *fields = context;
    const struct {
        const char *name;
        char **field;
    } known[] = {{"host", &fields->host},
                 {"origin", &fields->origin},
                 {"authorization", &fields->authorization},
                 {"content-type", &fields->content_type},
                 {"content-length", &fields->length},
                 {"transfer-encoding", &fields->length}, /* two readers must not see two lengths */
                 {"mcp-protocol-version", &fields->version},
                 {"mcp-method", &fields->method},
                 {"mcp-name", &fields->name}};

    (void)kind;
    value = value ? value : "";
    if (strcasecmp(name, "accept") == 0)
        text_append(&fields->accept, "%s%s", fields->accept ? "," : "", value);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcasecmp(name, known[i].name) == 0)
            keep_single(fields, known[i].field, value);
    return MHD_YES;
}

static const char *header(struct MHD_Connection *handle, const char *name)
{
    return MHD_lookup_connection_value(handle, MHD_HEADER_KIND, name);
}

/* How long the body is said to be; SIZE_MAX: that is not known. */
static size_t announced_length(struct MHD_Connection *handle)
{
    const char *text = header(handle, MHD_HTTP_HEADER_CONTENT_LENGTH);
    int64_t length;

    if (header(handle, MHD_HTTP_HEADER_TRANSFER_ENCODING))
        return SIZE_MAX;
    if (!text)
        return 0;
    return text_parse_integer(text, &length) && length >= 0 ? (size_t)length : SIZE_MAX;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static void add_cors(struct MHD_Response *response, const struct exchange *exchange)
{
    const char *origin = exchange->fields.origin;

    if (!origin || exchange->refusal == MHD_HTTP_FORBIDDEN || exchange->refusal == MHD_HTTP_BAD_REQUEST)
        return;
    MHD_add_response_header(response, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, "Origin");
    MHD_add_response_header(response, MHD_HTTP_HEADER_ACCESS_CONTROL_EXPOSE_HEADERS, "WWW-Authenticate");
    if (exchange->refusal != MHD_HTTP_NO_CONTENT)
        return;
    MHD_add_response_header(response, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_METHODS, "POST");
    MHD_add_response_header(response, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_HEADERS,
                            "Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name");
    MHD_add_response_header(response, MHD_HTTP_HEADER_ACCESS_CONTROL_MAX_AGE, "600");
}

/* Takes RESPONSE over, NULL included. */
static enum MHD_Result queue(struct MHD_Connection *handle, const struct exchange *exchange, unsigned int status,
                             struct MHD_Response *response)
{
    if (!response)
        return MHD_NO;
    add_cors(response, exchange);
    if (exchange->refusal)
        rest(exchange->connection);
    else
        set_deadline(exchange->connection, WRITE_MS);
    if (exchange->refusal == MHD_HTTP_BAD_REQUEST) /* what follows may be part of a body */
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    enum MHD_Result result = MHD_queue_response(handle, status, response);

    MHD_destroy_response(response);
    return result;
}

/* Sends TEXT (NULL: no body at all), which is copied. */
static enum MHD_Result reply(struct MHD_Connection *handle, const struct exchange *exchange, unsigned int status,
                             const char *text, size_t length)
{
    static char nothing[] = "";
    struct MHD_Response *response =
        text ? MHD_create_response_from_buffer(length, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY)
             : MHD_create_response_from_buffer(0, nothing, MHD_RESPMEM_PERSISTENT);

    if (response && text)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
    if (response && status == MHD_HTTP_UNAUTHORIZED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
                                exchange->fields.authorization ? "Bearer error=\"invalid_token\"" : "Bearer");
    if (response && status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "POST");
    return queue(handle, exchange, status, response);
}

static enum MHD_Result reply_refusal(struct MHD_Connection *handle, const struct exchange *exchange)
{
    AUTO_FREE char *text = exchange->why
                               ? text_format("{\"jsonrpc\":\"2.0\",\"error\":{\"code\":%d,\"message\":\"%s\"}}",
                                             (int)RPC_INVALID_REQUEST, exchange->why)
                               : NULL;

    return reply(handle, exchange, exchange->refusal, text, text ? strlen(text) : 0);
}

static enum MHD_Result reply_error(struct MHD_Connection *handle, struct exchange *exchange)
{
    static const char text[] = "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32603,\"message\":\"out of memory\"}}";

    return reply(handle, exchange, MHD_HTTP_INTERNAL_SERVER_ERROR, text, sizeof(text) - 1);
}

/* The answer, which is there. */
static enum MHD_Result reply_answer(struct MHD_Connection *handle, struct exchange *exchange)
{
    AUTO_FREE struct outgoing_text *answer = exchange_take(exchange);

    return answer ? reply(handle, exchange, request_status(exchange), answer->text, answer->length)
                  : reply_error(handle, exchange);
}

/* ---- event streams ----------------------------------------------------------------------------------------------- */

/* Makes TEXT (NULL: a comment, as a sign of life) the event at hand. */
static bool frame(struct exchange *exchange, const struct outgoing_text *text)
{
    static const char opening[] = "event: message\ndata: ";
    size_t length = text ? sizeof(opening) - 1 + text->length + 2 : 3;

    free(exchange->frame);
    exchange->frame_sent = 0;
    exchange->frame_length = length;
    exchange->frame = malloc(length);
    if (!exchange->frame)
        return false;
    if (!text) {
        memcpy(exchange->frame, ":\n\n", 3);
        return true;
    }
    char *out = mempcpy(exchange->frame, opening, sizeof(opening) - 1);

    out = mempcpy(out, text->text, text->length);
    memcpy(out, "\n\n", 2);
    return true;
}

/* Waits for the next event. 0, or how the stream ends. */
static ssize_t next_event(struct exchange *exchange)
{
    for (;;) {
        AUTO_FREE struct outgoing_text *text = exchange_take(exchange);

        if (text)
            return frame(exchange, text) ? 0 : MHD_CONTENT_READER_END_WITH_ERROR;
        if (exchange_state(exchange) == EXCHANGE_OVER)
            return MHD_CONTENT_READER_END_OF_STREAM;
        enum exchange_event event = exchange_wait(exchange, exchange->connection->fd, COMMENT_MS);

        if (event == EXCHANGE_GONE)
            return MHD_CONTENT_READER_END_WITH_ERROR;
        if (event == EXCHANGE_TIME)
            return frame(exchange, NULL) ? 0 : MHD_CONTENT_READER_END_WITH_ERROR;
    }
}

static ssize_t read_events(void *context, uint64_t position, char *buffer, size_t room)
{
    struct exchange *exchange = context;

    (void)position;
    if (exchange->frame_sent == exchange->frame_length) {
        set_deadline(exchange->connection, 0);
        ssize_t end = next_event(exchange);

        set_deadline(exchange->connection, WRITE_MS);
        if (end)
            return end;
    }
    size_t left = exchange->frame_length - exchange->frame_sent;
    size_t length = left < room ? left : room;

    memcpy(buffer, exchange->frame + exchange->frame_sent, length);
    exchange->frame_sent += length;
    return (ssize_t)length;
}

static enum MHD_Result reply_stream(struct MHD_Connection *handle, struct exchange *exchange)
{
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, EVENT_BLOCK, read_events, exchange, NULL);

    if (response) {
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream");
        MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
        MHD_add_response_header(response, "X-Accel-Buffering", "no");
    }
    return queue(handle, exchange, MHD_HTTP_OK, response);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

/* The message is complete: hands it over and begins the answer. */
static enum MHD_Result respond(struct http *http, struct MHD_Connection *handle, struct exchange *exchange)
{
    bool wants_progress;
    bool expects;

    http->last_message_ms = sandlot_now_ms();
    set_deadline(exchange->connection, 0);
    request_receive(exchange, http->host, http->options->server, &wants_progress, &expects);
    enum exchange_state state = exchange_state(exchange);

    if (state == EXCHANGE_ANSWERED)
        return reply_answer(handle, exchange);
    if (!expects)
        return reply(handle, exchange, MHD_HTTP_ACCEPTED, NULL, 0);
    if (state == EXCHANGE_OVER)
        return reply_error(handle, exchange);
    if (state == EXCHANGE_WAITING && !wants_progress) {
        if (exchange_wait(exchange, exchange->connection->fd, JSON_MS) == EXCHANGE_GONE)
            return MHD_NO;
        if (exchange_state(exchange) == EXCHANGE_ANSWERED)
            return reply_answer(handle, exchange);
    }
    return reply_stream(handle, exchange);
}

static enum MHD_Result begin(struct http *http, struct MHD_Connection *handle, const char *path, const char *method,
                             void **context)
{
    struct connection *connection = MHD_get_connection_info(handle, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    struct exchange *exchange = connection ? exchange_new(&http->peer) : NULL;
    size_t length = announced_length(handle);

    if (!exchange)
        return MHD_NO;
    *context = exchange;
    http->exchanges++;
    exchange->connection = connection;
    set_deadline(connection, BODY_MS);
    MHD_get_connection_values(handle, MHD_HEADER_KIND, keep_field, &exchange->fields);
    request_check(exchange, &http->options->access, method, path);
    if (!exchange->refusal && length != SIZE_MAX && length > http->options->longest_message) {
        exchange->refusal = MHD_HTTP_CONTENT_TOO_LARGE;
        exchange->why = "a message must be at most 16 MiB long";
    }
    if (exchange->refusal)
        rest(connection);
    bool at_once = header(handle, MHD_HTTP_HEADER_EXPECT) || (length != SIZE_MAX && length > MOST_THROWN_AWAY);

    return exchange->refusal && at_once ? reply_refusal(handle, exchange) : MHD_YES;
}

static enum MHD_Result take_body(const struct http *http, struct exchange *exchange, const char *bytes, size_t length)
{
    if (!exchange->refusal && exchange->body_length + length > http->options->longest_message) {
        exchange->refusal = MHD_HTTP_CONTENT_TOO_LARGE;
        exchange->why = "a message must be at most 16 MiB long";
    }
    if (!exchange->refusal)
        return exchange_add_body(exchange, bytes, length) ? MHD_YES : MHD_NO;
    free(exchange->body);
    exchange->body = NULL;
    exchange->body_length = 0;
    exchange->thrown_away += length;
    return exchange->thrown_away <= MOST_THROWN_AWAY ? MHD_YES : MHD_NO;
}

static enum MHD_Result on_request(void *argument, struct MHD_Connection *handle, const char *path, const char *method,
                                  const char *version, const char *bytes, size_t *length, void **context)
{
    struct http *http = argument;
    struct exchange *exchange = *context;

    (void)version;
    if (!exchange)
        return begin(http, handle, path, method, context);
    if (*length) {
        enum MHD_Result result = take_body(http, exchange, bytes, *length);

        *length = 0;
        return result;
    }
    return exchange->refusal ? reply_refusal(handle, exchange) : respond(http, handle, exchange);
}

/* The answer has been sent, or the client has gone. */
static void on_end(void *argument, struct MHD_Connection *handle, void **context, enum MHD_RequestTerminationCode how)
{
    struct http *http = argument;
    struct exchange *exchange = *context;

    (void)handle;
    (void)how;
    if (!exchange)
        return;
    *context = NULL;
    rest(exchange->connection);
    if (!exchange->received)
        channel_release(&exchange->channel);
    else if (exchange->modern && !exchange_is_settled(exchange))
        http->host->hang_up(http->options->server, &exchange->channel);
    exchange_close(exchange);
    http->exchanges--;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static struct MHD_Daemon *start_daemon(struct http *http)
{
    const unsigned int flags =
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC;
    sigset_t all;
    sigset_t old;

    /* Signals are for the main thread. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    struct MHD_Daemon *daemon =
        MHD_start_daemon(flags, 0, NULL, NULL, on_request, http, MHD_OPTION_LISTEN_SOCKET, http->options->listen_fd,
                         MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_NOTIFY_COMPLETED, on_end, http,
                         MHD_OPTION_CONNECTION_LIMIT, (unsigned int)MOST_CONNECTIONS,
                         MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY, MHD_OPTION_THREAD_STACK_SIZE,
                         (size_t)STACK, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);

    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return daemon;
}

static void free_http(struct http *http)
{
    pthread_mutex_destroy(&http->lock);
    free(http);
}

static struct http *start(const struct http_host *host, const struct http_options *options, const char **why)
{
    struct http *http = calloc(1, sizeof(*http));

    *why = "out of memory";
    if (!http)
        return NULL;
    http->host = host;
    http->options = options;
    http->peer = (struct peer){.initialized = true, .many = true};
    http->last_message_ms = sandlot_now_ms();
    pthread_mutex_init(&http->lock, NULL);
    http->daemon = start_daemon(http);
    if (http->daemon)
        return http;
    *why = "libmicrohttpd cannot start; are threads or descriptors used up (ulimit -u, ulimit -n)?";
    free_http(http);
    return NULL;
}

static bool is_idle(struct http *http)
{
    int64_t now_ms = sandlot_now_ms();

    if (!http->options->idle_timeout_ms)
        return false;
    if (http->host->is_busy(http->options->server))
        http->last_message_ms = now_ms; /* work is no idleness, and neither is the moment after it */
    return now_ms >= http->last_message_ms + http->options->idle_timeout_ms;
}

static enum http_end serve(struct http *http)
{
    struct pollfd stop = {http->options->stop_fd, POLLIN, 0};
    enum http_end end = HTTP_STOPPED;

    while (end == HTTP_STOPPED && poll(&stop, 1, LOOK_MS) <= 0) {
        end_connections(http, sandlot_now_ms());
        if (is_idle(http))
            end = HTTP_IDLE;
    }
    MHD_quiesce_daemon(http->daemon);
    return end;
}

static void finish(struct http *http)
{
    enum { PAUSE_MS = 5 };

    for (int waited_ms = 0; http->exchanges > 0 && waited_ms < FAREWELL_MS; waited_ms += PAUSE_MS)
        poll(NULL, 0, PAUSE_MS);
    /* The library waits for its threads, and does not wake them. */
    end_connections(http, INT64_MAX);
    MHD_stop_daemon(http->daemon);
    close(http->options->listen_fd);
}

__attribute__((visibility("default"))) extern const struct http_module sandlot_mcp_http;
const struct http_module sandlot_mcp_http = {SANDLOT_VERSION, start, serve, finish, free_http};

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/clients.h>
#include <sandlot/sdk/http_relay.h>
#include <sandlot/sdk/timestamp.h>

#include "http_client.h"
#include "http_relay_head.h"
#include "http_upgrade.h"

#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096, STATUS_LINE = 12, MARGIN_MS = 5000, LOOK_MS = 1000, LIVE_ON_MS = 5000 };

struct http_relay_known {
    struct http_relay_known *next;
    uint16_t port;
    struct http_relay_place place;
};

/* ---- places ------------------------------------------------------------------------------------------------------ */

static void clear_place(struct http_relay_place *place)
{
    free(place->url);
    free(place->header);
    *place = (struct http_relay_place){0};
}

static bool copy_place(const struct http_relay_place *from, struct http_relay_place *to)
{
    *to = *from;
    to->url = strdup(from->url);
    to->header = from->header ? strdup(from->header) : NULL;
    if (to->url && (!from->header || to->header))
        return true;
    clear_place(to);
    return false;
}

void http_relay_places_init(struct http_relay_places *places)
{
    pthread_mutex_init(&places->lock, NULL);
    places->known = NULL;
}

void http_relay_places_clear(struct http_relay_places *places)
{
    while (places->known) {
        struct http_relay_known *known = places->known;

        places->known = known->next;
        clear_place(&known->place);
        free(known);
    }
    pthread_mutex_destroy(&places->lock);
}

static struct http_relay_places *places_of(const struct http_relay *relay, void *sandbox)
{
    return (struct http_relay_places *)((char *)sandbox + relay->places_at);
}

static void forget(struct http_relay_places *places, uint16_t port)
{
    pthread_mutex_lock(&places->lock);
    for (struct http_relay_known **at = &places->known; *at; at = &(*at)->next) {
        struct http_relay_known *known = *at;

        if (known->port != port)
            continue;
        *at = known->next;
        clear_place(&known->place);
        free(known);
        break;
    }
    pthread_mutex_unlock(&places->lock);
}

static bool recall(struct http_relay_places *places, uint16_t port, struct http_relay_place *place)
{
    bool found = false;

    pthread_mutex_lock(&places->lock);
    for (const struct http_relay_known *known = places->known; known && !found; known = known->next)
        found = known->port == port &&
                (known->place.expires_at_ms == 0 || known->place.expires_at_ms - MARGIN_MS > timestamp_now()) &&
                copy_place(&known->place, place);
    pthread_mutex_unlock(&places->lock);
    return found;
}

/* Where there is no memory for it, it is asked for again. */
static void remember(struct http_relay_places *places, uint16_t port, const struct http_relay_place *place)
{
    struct http_relay_known *known = calloc(1, sizeof(*known));

    forget(places, port);
    if (!known || !copy_place(place, &known->place)) {
        free(known);
        return;
    }
    known->port = port;
    pthread_mutex_lock(&places->lock);
    known->next = places->known;
    places->known = known;
    pthread_mutex_unlock(&places->lock);
}

/* Is URL a scheme, a host and perhaps a port, and nothing else? What a service says goes into heads and onto terminals.
 */
static bool is_origin(const char *url)
{
    const char *host = strstr(url, "://");

    host = host ? host + strlen("://") : "";
    return *host &&
           strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:[]") == strlen(host);
}

/* "Name: value" in printable ASCII */
static bool is_header(const char *header)
{
    const char *at = header;

    while (*at >= ' ' && *at <= '~')
        at++;
    return *at == '\0' && strstr(header, ": ");
}

/* To be cleared in any case. */
static enum sandlot_status find_anew(struct sandlot_call *call, const struct http_relay *relay, void *provider,
                                     void *sandbox, uint16_t port, int64_t ttl_ms, struct http_relay_place *place)
{
    enum sandlot_status status = relay->find(call, provider, sandbox, port, ttl_ms, place);

    if (status == SANDLOT_OK && (!is_origin(place->url) || !clients_are_as_safe(place->client->base_url, place->url)))
        return sandlot_fail(call, SANDLOT_INTERNAL,
                            "%s says that the port is reached at \"%.200s\", which is no https address of a host, and "
                            "nothing must be sent there; check the address of the API",
                            place->client->service, place->url);
    if (status == SANDLOT_OK && place->header && !is_header(place->header))
        return sandlot_fail(call, SANDLOT_INTERNAL,
                            "%s lets requests in by a header that has line ends or other control characters in it; "
                            "report it to %s",
                            place->client->service, place->client->service);
    if (status == SANDLOT_OK && place->header)
        http_client_add_secret(place->client, place->header + strcspn(place->header, ":") + 2);
    return status;
}

static enum sandlot_status find(struct sandlot_call *call, const struct http_relay *relay, void *provider,
                                void *sandbox, uint16_t port, struct http_relay_place *place)
{
    struct http_relay_places *places = places_of(relay, sandbox);

    if (recall(places, port, place))
        return SANDLOT_OK;
    enum sandlot_status status = find_anew(call, relay, provider, sandbox, port, 0, place);

    if (status == SANDLOT_OK)
        remember(places, port, place);
    return status;
}

enum sandlot_status http_relay_url(struct sandlot_call *call, const struct http_relay *relay, void *provider,
                                   void *sandbox, uint16_t port, int64_t ttl_ms,
                                   const struct sandlot_port_answer *answer)
{
    struct http_relay_place place = {0};
    enum sandlot_status status = find_anew(call, relay, provider, sandbox, port, ttl_ms, &place);
    const struct sandlot_port_address address = {.size = sizeof(address),
                                                 .url = place.url,
                                                 .header = place.header,
                                                 .expires_at_ms = place.expires_at_ms,
                                                 .is_public = place.is_public};

    if (status == SANDLOT_OK)
        answer->found(answer, &address);
    clear_place(&place);
    return status;
}

/* ---- one connection ---------------------------------------------------------------------------------------------- */

struct exchange {
    struct sandlot_call *call;
    const struct http_relay *relay;
    void *sandbox;
    const struct sandlot_connection *connection;
    struct http_relay_places *places;
    struct sdk_buffer in; /* the head of the request, and what came behind it */
    size_t head_length;
    struct sandlot_sink answer;
    char status[STATUS_LINE + 1]; /* the beginning of the answer */
    size_t status_length;
};

/* Waits until the client has sent something, or the call is over. A client may be silent for as long as it likes. */
static enum sandlot_status wait_for_input(struct sandlot_call *call, const struct sandlot_source *input)
{
    struct pollfd fds[] = {{input->poll_fd, POLLIN, 0}, {call->cancel_fd, POLLIN, 0}};

    while (input->poll_fd >= 0 && poll(fds, 2, call->deadline_ms ? sandlot_remaining_ms(call, INT_MAX) : -1) <= 0)
        if (call->deadline_ms && sandlot_now_ms() >= call->deadline_ms)
            return sandlot_fail(call, SANDLOT_TIMEOUT, "no request came in time; try again");
    return fds[1].revents ? sandlot_fail(call, SANDLOT_CANCELLED, "the connection was cancelled") : SANDLOT_OK;
}

static enum sandlot_status refuse(struct sandlot_call *call, enum http_relay_look look)
{
    if (look == HTTP_RELAY_LONG)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "the head of a request is longer than %d bytes; send fewer cookies or a shorter address",
                            HTTP_RELAY_HEAD);
    return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                        "ports of this provider carry HTTP/1 and WebSockets only, and this is something else; use a "
                        "provider with ports of its own, such as local");
}

/* Reads until the head is whole. *ENDED: the client has said nothing at all. */
static enum sandlot_status read_head(struct exchange *exchange, bool *ended)
{
    const struct sandlot_source *input = exchange->connection->input;
    enum http_relay_look look = HTTP_RELAY_MORE;

    *ended = false;
    while (look == HTTP_RELAY_MORE) {
        char block[BLOCK];
        size_t length = 0;
        enum sandlot_status status = wait_for_input(exchange->call, input);

        if (status == SANDLOT_OK)
            status = input->read(input, block, sizeof(block), &length);
        if (status != SANDLOT_OK)
            return status;
        *ended = length == 0 && exchange->in.length == 0;
        if (*ended)
            return SANDLOT_OK;
        if (length == 0)
            return refuse(exchange->call, HTTP_RELAY_OTHER);
        if (sdk_buffer_add(&exchange->in, block, length) != SDK_GROWN)
            return refuse(exchange->call, HTTP_RELAY_LONG);
        look = http_relay_look(exchange->in.bytes, exchange->in.length, &exchange->head_length);
    }
    return look == HTTP_RELAY_WHOLE ? SANDLOT_OK : refuse(exchange->call, look);
}

/* The status of an answer that says that what is remembered of the port is no longer true. */
static bool is_stale(const char *status_line)
{
    static const char *const stale[] = {" 401", " 403", " 404", " 410"};

    for (size_t i = 0; i < sizeof(stale) / sizeof(stale[0]); i++)
        if (strcmp(status_line + strlen("HTTP/1.1"), stale[i]) == 0)
            return true;
    return false;
}

static enum sandlot_status on_answer(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct exchange *exchange = sink->context;
    size_t missing = STATUS_LINE - exchange->status_length;
    size_t taken = missing < length ? missing : length;

    memcpy(exchange->status + exchange->status_length, bytes, taken);
    exchange->status_length += taken;
    if (taken > 0 && exchange->status_length == STATUS_LINE && is_stale(exchange->status))
        forget(exchange->places, exchange->connection->port);
    return exchange->connection->output->write(exchange->connection->output, bytes, length);
}

static void live_on(const struct exchange *exchange)
{
    struct attempt attempt;

    if (!exchange->relay->live_on)
        return;
    attempt_begin(&attempt, exchange->call, LIVE_ON_MS);
    exchange->relay->live_on(&attempt.call, exchange->sandbox);
}

/* Both directions to their ends. The sandbox is in use also while nothing passes. */
static enum sandlot_status carry(struct exchange *exchange, struct http_upgrade *stream, bool upgrades)
{
    const struct sandlot_call *call = exchange->call;
    int64_t look_ms;
    const struct http_upgrade_traffic traffic = {.input = exchange->connection->input,
                                                 .output = &exchange->answer,
                                                 .wake_fd = -1,
                                                 .end_ms = &look_ms,
                                                 .stays_open = !upgrades};
    enum sandlot_status status;

    do {
        live_on(exchange);
        look_ms = sandlot_now_ms() + LOOK_MS;
        status = http_upgrade_carry(exchange->call, stream, &traffic);
    } while (status == SANDLOT_TIMEOUT && (call->deadline_ms == 0 || sandlot_now_ms() < call->deadline_ms));
    return status;
}

/* What the client has sent, as the service is to see it, and then all else. */
static enum sandlot_status pass(struct exchange *exchange, struct http_upgrade *stream,
                                const struct http_relay_place *place)
{
    const struct sandlot_connection *connection = exchange->connection;
    struct sdk_buffer head = {.limit = SIZE_MAX / 4};
    bool upgrades = false;
    enum sandlot_status status = SANDLOT_INTERNAL;

    if (http_relay_rewrite(exchange->in.bytes, exchange->head_length, strstr(place->url, "://") + 3, place->header,
                           &head, &upgrades))
        status = http_upgrade_send(exchange->call, stream, head.bytes, head.length);
    else
        sandlot_fail(exchange->call, status, "there is not enough memory for a request; free some");
    sdk_buffer_clear(&head);
    if (status == SANDLOT_OK)
        status = http_upgrade_send(exchange->call, stream, exchange->in.bytes + exchange->head_length,
                                   exchange->in.length - exchange->head_length);
    if (status != SANDLOT_OK)
        return status;
    connection->opened(connection);
    status = carry(exchange, stream, upgrades);
    return status == SANDLOT_CANCELLED ? status : SANDLOT_OK;
}

static enum sandlot_status run(struct exchange *exchange, void *provider)
{
    struct sandlot_call *call = exchange->call;
    struct http_relay_place place = {0};
    struct http_upgrade *stream = NULL;
    bool ended;
    enum sandlot_status status = read_head(exchange, &ended);

    if (status != SANDLOT_OK || ended)
        return status;
    status = find(call, exchange->relay, provider, exchange->sandbox, exchange->connection->port, &place);
    if (status == SANDLOT_OK)
        status = http_upgrade_connect(call, place.client, place.url, "connection", &stream);
    if (status == SANDLOT_OK)
        status = pass(exchange, stream, &place);
    http_upgrade_close(stream);
    clear_place(&place);
    return status;
}

enum sandlot_status http_relay_connect(struct sandlot_call *call, const struct http_relay *relay, void *provider,
                                       void *sandbox, const struct sandlot_connection *connection)
{
    struct exchange exchange = {.call = call,
                                .relay = relay,
                                .sandbox = sandbox,
                                .connection = connection,
                                .places = places_of(relay, sandbox),
                                .in = {.limit = HTTP_RELAY_HEAD + BLOCK}};

    exchange.answer = (struct sandlot_sink){sizeof(exchange.answer), &exchange, on_answer};
    enum sandlot_status status = run(&exchange, provider);

    sdk_buffer_clear(&exchange.in);
    return status;
}

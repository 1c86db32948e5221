/*
 * A connection is a WebSocket of its own, with a yamux session of one stream. The stream begins with the version and
 * the port, and is answered with one byte.
 *
 * The service ends a session whose pings are not answered. So one thread receives, answers, and sends what comes from
 * this side, while another hands out what has come, for which it may have to wait long.
 */
#include "operations.h"

#include "yamux.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/pause.h>

#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum {
    VERSION = 1,
    REQUEST = 3,           /* version and port */
    PIECE = 16 * 1024,     /* sent at a time */
    ANSWER_MS = 30 * 1000, /* for a handshake, and for the answer about the port */
    LOOK_MS = 2000,        /* after which it is seen whether the other thread has given up */
    TRIES = 5,             /* while the sandbox wakes */
    BETWEEN_MS = 500,
};

/* The answers about a port. */
enum { OPENED, NOT_ALLOWED, NOTHING_LISTENS, OTHER_VERSION, NOT_TOLD };

/* A connection under way. */
struct tunnel {
    struct sandlot_call *call;
    const struct sandlot_connection *connection;
    struct websocket *socket;
    bool input_ended;
    int answer;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    struct yamux yamux;
    size_t begin; /* what has come, in a ring */
    size_t count;
    bool over;     /* nothing more comes */
    bool given_up; /* nobody takes it any more */
    unsigned char ring[YAMUX_WINDOW];
};

/* ---- what comes -------------------------------------------------------------------------------------------------- */

static void keep(struct tunnel *tunnel, const unsigned char *bytes, size_t length)
{
    if (length > 0 && tunnel->answer == NOT_TOLD) {
        tunnel->answer = *bytes++;
        length--;
    }
    while (length > 0) {
        const size_t end = (tunnel->begin + tunnel->count) % YAMUX_WINDOW;
        const size_t piece = length < YAMUX_WINDOW - end ? length : YAMUX_WINDOW - end;

        memcpy(tunnel->ring + end, bytes, piece);
        tunnel->count += piece;
        bytes += piece;
        length -= piece;
    }
    pthread_cond_signal(&tunnel->changed);
}

static enum sandlot_status post_head(struct sandlot_call *call, struct tunnel *tunnel, enum yamux_kind kind,
                                     unsigned flags, uint32_t length)
{
    unsigned char head[YAMUX_HEAD];

    yamux_write(head, kind, flags, length);
    return websocket_post(call, tunnel->socket, WEBSOCKET_BINARY, head, sizeof(head));
}

static enum sandlot_status take(struct sandlot_call *call, struct tunnel *tunnel,
                                const struct websocket_message *message)
{
    struct yamux_input input = {message->bytes, message->length};
    struct yamux_piece piece;
    enum sandlot_status status = SANDLOT_OK;

    pthread_mutex_lock(&tunnel->lock);
    while (status == SANDLOT_OK && yamux_take(&tunnel->yamux, &input, &piece))
        if (piece.kind == YAMUX_PING)
            status = post_head(call, tunnel, YAMUX_PING, YAMUX_ANSWER, piece.ping);
        else
            keep(tunnel, piece.bytes, piece.length);
    pthread_mutex_unlock(&tunnel->lock);
    return status;
}

/* Waits a while for what comes, or until WAKE_FD is readable. *OVER: the connection is. */
static enum sandlot_status receive(struct tunnel *tunnel, int64_t longest_ms, int wake_fd, bool *over)
{
    struct websocket_message message;
    struct attempt attempt;

    attempt_begin(&attempt, tunnel->call, longest_ms);
    enum sandlot_status status = websocket_receive(&attempt.call, tunnel->socket, wake_fd, &message);

    if (status == SANDLOT_OK && message.kind == WEBSOCKET_BINARY)
        status = take(&attempt.call, tunnel, &message);
    *over = status == SANDLOT_UNAVAILABLE || tunnel->yamux.broken ||
            (status == SANDLOT_OK && message.kind == WEBSOCKET_CLOSED);
    return *over || (status == SANDLOT_TIMEOUT && sandlot_remaining_ms(tunnel->call, 1) > 0) ? SANDLOT_OK : status;
}

/* ---- handing it out ---------------------------------------------------------------------------------------------- */

/* Says that there is room for LENGTH bytes more. */
static void make_room(struct tunnel *tunnel, uint32_t length)
{
    struct attempt attempt; /* what cannot be sent the other thread sees, too */
    unsigned char head[YAMUX_HEAD];

    attempt_begin(&attempt, tunnel->call, 0);
    yamux_write(head, YAMUX_ROOM, 0, length);
    websocket_send(&attempt.call, tunnel->socket, WEBSOCKET_BINARY, head, sizeof(head));
}

/* One piece of the ring. Called and left with the lock held. */
static bool hand_out_piece(struct tunnel *tunnel, uint32_t *handed)
{
    const struct sandlot_sink *output = tunnel->connection->output;
    const size_t whole = YAMUX_WINDOW - tunnel->begin;
    const size_t length = tunnel->count < whole ? tunnel->count : whole;

    pthread_mutex_unlock(&tunnel->lock);
    const bool taken = output->write(output, tunnel->ring + tunnel->begin, length) == SANDLOT_OK;

    pthread_mutex_lock(&tunnel->lock);
    tunnel->begin = (tunnel->begin + length) % YAMUX_WINDOW;
    tunnel->count -= length;
    *handed += (uint32_t)length;
    if (*handed < YAMUX_WINDOW / 2 || tunnel->over || !taken)
        return taken;
    tunnel->yamux.may_come += *handed;
    pthread_mutex_unlock(&tunnel->lock);
    make_room(tunnel, *handed);
    *handed = 0;
    pthread_mutex_lock(&tunnel->lock);
    return taken;
}

static void *hand_out(void *context)
{
    struct tunnel *tunnel = context;
    const struct sandlot_connection *connection = tunnel->connection;
    uint32_t handed = 0;
    bool taken = true;

    pthread_mutex_lock(&tunnel->lock);
    while (taken && (tunnel->count > 0 || !tunnel->over))
        if (tunnel->count > 0)
            taken = hand_out_piece(tunnel, &handed);
        else
            pthread_cond_wait(&tunnel->changed, &tunnel->lock);
    tunnel->given_up = !taken;
    pthread_mutex_unlock(&tunnel->lock);
    if (taken && SANDLOT_HAS(connection, closed))
        connection->closed(connection);
    return NULL;
}

static bool has_given_up(struct tunnel *tunnel)
{
    pthread_mutex_lock(&tunnel->lock);
    const bool given_up = tunnel->given_up;

    pthread_mutex_unlock(&tunnel->lock);
    return given_up;
}

static void nothing_more_comes(struct tunnel *tunnel)
{
    pthread_mutex_lock(&tunnel->lock);
    tunnel->over = true;
    pthread_cond_signal(&tunnel->changed);
    pthread_mutex_unlock(&tunnel->lock);
}

/* ---- what goes --------------------------------------------------------------------------------------------------- */

/* Takes of the input what is there, as far as the other side has room for it. */
static enum sandlot_status pass_input(struct tunnel *tunnel)
{
    const struct sandlot_source *input = tunnel->connection->input;
    const size_t most = tunnel->yamux.may_send < PIECE ? tunnel->yamux.may_send : PIECE;
    struct pollfd ready = {input->poll_fd, POLLIN, 0};
    unsigned char frame[YAMUX_HEAD + PIECE];
    struct attempt attempt;
    size_t length = 0;

    if (input->poll_fd >= 0 && poll(&ready, 1, 0) <= 0)
        return SANDLOT_OK;
    enum sandlot_status status = input->read(input, frame + YAMUX_HEAD, most, &length);

    if (status != SANDLOT_OK)
        return status;
    attempt_begin(&attempt, tunnel->call, 0);
    tunnel->input_ended = length == 0;
    if (tunnel->input_ended)
        return post_head(&attempt.call, tunnel, YAMUX_ROOM, YAMUX_END, 0);
    yamux_write(frame, YAMUX_DATA, 0, (uint32_t)length);
    tunnel->yamux.may_send -= (uint32_t)length;
    return websocket_post(&attempt.call, tunnel->socket, WEBSOCKET_BINARY, frame, YAMUX_HEAD + length);
}

/* To and fro, until both sides have ended. */
static enum sandlot_status carry(struct tunnel *tunnel)
{
    enum sandlot_status status = SANDLOT_OK;
    pthread_t thread;
    bool over = false;

    if (pthread_create(&thread, NULL, hand_out, tunnel) != 0)
        return SANDLOT_INTERNAL;
    while (status == SANDLOT_OK && !over && !(tunnel->yamux.ended && tunnel->input_ended) && !has_given_up(tunnel)) {
        bool sends = !tunnel->input_ended && tunnel->yamux.may_send > 0 && !websocket_is_posting(tunnel->socket);

        status = receive(tunnel, LOOK_MS, sends ? tunnel->connection->input->poll_fd : -1, &over);
        if (tunnel->yamux.ended || over || status != SANDLOT_OK)
            nothing_more_comes(tunnel);
        if (status == SANDLOT_OK && !over && sends)
            status = pass_input(tunnel);
    }
    nothing_more_comes(tunnel);
    pthread_join(thread, NULL);
    return status;
}

/* ---- the beginning ----------------------------------------------------------------------------------------------- */

/* Asks for the port and waits for the answer. */
static enum sandlot_status ask(struct tunnel *tunnel)
{
    const unsigned port = tunnel->connection->port;
    unsigned char hello[YAMUX_HEAD + YAMUX_HEAD + REQUEST];
    const unsigned char request[REQUEST] = {VERSION, (unsigned char)(port >> 8), (unsigned char)port};
    bool over = false;

    yamux_write(hello, YAMUX_ROOM, YAMUX_OPEN, 0);
    yamux_write(hello + YAMUX_HEAD, YAMUX_DATA, 0, REQUEST);
    memcpy(hello + YAMUX_HEAD + YAMUX_HEAD, request, REQUEST);
    tunnel->yamux.may_send -= REQUEST;
    enum sandlot_status status = websocket_send(tunnel->call, tunnel->socket, WEBSOCKET_BINARY, hello, sizeof(hello));

    for (int64_t end_ms = sandlot_now_ms() + ANSWER_MS;
         status == SANDLOT_OK && tunnel->answer == NOT_TOLD && !over && !tunnel->yamux.ended;) {
        const int64_t left_ms = end_ms - sandlot_now_ms();

        over = left_ms <= 0;
        if (!over)
            status = receive(tunnel, left_ms, -1, &over);
    }
    return status;
}

static enum sandlot_status conclude(struct tunnel *tunnel, const struct sandbox *sandbox, enum sandlot_status status)
{
    const unsigned port = tunnel->connection->port;

    if (tunnel->answer == OPENED && status != SANDLOT_INTERNAL)
        return status == SANDLOT_CANCELLED ? status : SANDLOT_OK;
    if (status != SANDLOT_OK)
        return sandlot_fail(tunnel->call, status,
                            "the tunnel to port %u of the sandbox '%s' could not be used; try again", port,
                            sandbox->name);
    if (tunnel->answer == NOTHING_LISTENS)
        return sandlot_fail(tunnel->call, SANDLOT_UNAVAILABLE, "nothing listens on port %u in the sandbox '%s'", port,
                            sandbox->name);
    if (tunnel->answer == NOT_ALLOWED)
        return sandlot_fail(tunnel->call, SANDLOT_UNSUPPORTED,
                            "LangSmith lets nobody through to port %u of a sandbox; let the server listen on another",
                            port);
    return sandlot_fail(tunnel->call, SANDLOT_UNAVAILABLE,
                        "LangSmith did not answer for port %u of the sandbox '%s'; try again", port, sandbox->name);
}

static enum sandlot_status use(struct sandlot_call *call, const struct sandbox *sandbox, struct websocket *socket,
                               const struct sandlot_connection *connection, bool *missing)
{
    AUTO_FREE struct tunnel *tunnel = calloc(1, sizeof(*tunnel));

    if (!tunnel) {
        websocket_free(socket);
        return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for a connection; free some");
    }
    tunnel->call = call;
    tunnel->connection = connection;
    tunnel->socket = socket;
    tunnel->answer = NOT_TOLD;
    yamux_init(&tunnel->yamux);
    pthread_mutex_init(&tunnel->lock, NULL);
    pthread_cond_init(&tunnel->changed, NULL);
    enum sandlot_status status = ask(tunnel);

    *missing = tunnel->answer == OTHER_VERSION;
    if (status == SANDLOT_OK && tunnel->answer == OPENED) {
        connection->opened(connection);
        status = carry(tunnel);
    }
    if (!*missing)
        status = conclude(tunnel, sandbox, status);
    websocket_close(call, socket, 1000, "");
    pthread_cond_destroy(&tunnel->changed);
    pthread_mutex_destroy(&tunnel->lock);
    return status;
}

/* Is that an answer of a sandbox that sleeps, or wakes? */
static bool is_asleep(int answer)
{
    return answer == 400 || answer == 502 || answer == 503 || answer == 504;
}

enum sandlot_status tunnel_connect(struct sandlot_call *call, struct sandbox *sandbox,
                                   const struct sandlot_connection *connection, bool *missing)
{
    for (int i = 1;; i++) {
        AUTO_RESPONSE struct http_response answer = {0};
        struct websocket *socket;
        struct attempt attempt;

        attempt_begin(&attempt, call, ANSWER_MS);
        enum sandlot_status status = sandbox_open_socket(&attempt.call, sandbox, "/tunnel", &answer, &socket);

        *missing = answer.status == 404 || answer.status == 405 || answer.status == 501;
        if (status == SANDLOT_OK)
            return use(call, sandbox, socket, connection, missing);
        if (*missing) { /* or the sandbox is */
            status = sandbox_must_exist(call, sandbox);
            *missing = status == SANDLOT_OK;
            return status;
        }
        if (!is_asleep(answer.status) || i == TRIES)
            return attempt_fail(&attempt, status);
        sandbox_seen_asleep(sandbox);
        status = sandbox_wake(call, sandbox);
        if (status != SANDLOT_OK)
            return status;
        if (i > 1 && !pause_for(call, BETWEEN_MS))
            return attempt_fail(&attempt, SANDLOT_TIMEOUT);
    }
}

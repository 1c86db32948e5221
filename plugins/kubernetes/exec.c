#include "exec.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/pause.h>

#include <string.h>

enum {
    ATTEMPTS = 4,
    FIRST_PAUSE_MS = 250,
    LONGEST_PAUSE_MS = 4000,
    LONGEST_WISH_MS = 30 * 1000,
    OPEN_MS = 30 * 1000,
    LAST_WORDS_MS = 2000, /* between the status and the end of the connection */
    LONGEST_MESSAGE = 33 << 20
};

/* ---- connecting -------------------------------------------------------------------------------------------------- */

static char *make_target(const struct kubernetes *kubernetes, const struct exec_order *order)
{
    AUTO_FREE char *pod = api_path(kubernetes, NULL, "pods", order->pod);
    char *target = NULL;

    if (!pod || asprintf(&target, "%s/exec", pod) < 0)
        return NULL;
    bool made = http_target_add(&target, "container", order->container) &&
                http_target_add(&target, "stdin", order->input ? "true" : "false") &&
                http_target_add(&target, "stdout", "true") && http_target_add(&target, "stderr", "false") &&
                http_target_add(&target, "tty", order->terminal ? "true" : "false");

    for (const char *const *word = order->words; made && *word; word++)
        made = http_target_add(&target, "command", *word);
    return made ? target : NULL;
}

static enum sandlot_status connect_once(struct sandlot_call *call, struct kubernetes *kubernetes, const char *target,
                                        bool fresh, struct exec *exec, struct http_response *answer)
{
    AUTO_WAY struct way way = {0};
    enum sandlot_status status = access_way(call, &kubernetes->access, fresh, &way);
    const char *const headers[] = {way.authorization, NULL};
    const struct websocket_request request = {.target = target,
                                              .headers = headers,
                                              .protocols = "v5.channel.k8s.io, v4.channel.k8s.io",
                                              .limit = LONGEST_MESSAGE,
                                              .answer = answer};

    if (status == SANDLOT_OK)
        status = websocket_open(call, way.client, &request, &exec->socket);
    if (status != SANDLOT_OK)
        return status;
    const char *protocol = websocket_protocol(exec->socket);

    exec->half_close = protocol && strncmp(protocol, "v5.", 3) == 0;
    exec->heard_ms = sandlot_now_ms();
    return SANDLOT_OK;
}

/* What a refusal before the upgrade says of the pod. */
static enum sandlot_status refuse(struct sandlot_call *call, struct kubernetes *kubernetes, const char *target,
                                  const struct exec_order *order, const struct http_response *answer)
{
    char said[300];

    http_error_text(answer->body, answer->length, said, sizeof(said));
    if (answer->status == 404)
        return sandlot_fail(call, SANDLOT_NOT_FOUND,
                            "Kubernetes has no pod %.100s: %s; sandlot list shows those that there are", order->pod,
                            said);
    if (answer->status == 400 && strstr(said, "completed pod"))
        return sandlot_fail(call, SANDLOT_NOT_FOUND, "the pod %.100s has ended (%s); make another sandbox", order->pod,
                            said);
    if (answer->status == 400 && strstr(said, "container name must be specified"))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "Kubernetes says: %s; name one by the parameter container",
                            said);
    if (answer->status == 400 && strstr(said, "does not have a host"))
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "the pod %.100s is on no node yet; wait a little", order->pod);
    if (answer->status == 403 && answer->length == 0)
        return sandlot_fail(
            call, SANDLOT_UNSUPPORTED,
            "this cluster runs commands by none of the protocols v5 and v4.channel.k8s.io; it is too old");
    return api_refuse(call, kubernetes, "GET", target, answer);
}

static bool is_later(const struct http_response *answer)
{
    int status = answer->status;

    return status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

/* One attempt. *AGAIN: another may do, after *PAUSE_MS. */
static enum sandlot_status connect_or_wait(struct sandlot_call *call, struct kubernetes *kubernetes, const char *target,
                                           const struct exec_order *order, struct exec *exec, int number, bool *fresh,
                                           int64_t *pause_ms)
{
    AUTO_RESPONSE struct http_response answer = {0};
    struct attempt attempt;

    attempt_begin(&attempt, call, OPEN_MS);
    enum sandlot_status status = connect_once(&attempt.call, kubernetes, target, *fresh, exec, &answer);

    *pause_ms = -1;
    if (status == SANDLOT_OK)
        return status;
    if (answer.status == 401 && !*fresh && access_can_refresh(&kubernetes->access)) {
        *fresh = true;
        *pause_ms = 0;
        return status;
    }
    if (is_later(&answer) && number < ATTEMPTS && answer.retry_ms <= LONGEST_WISH_MS) {
        *pause_ms = (int64_t)FIRST_PAUSE_MS << number;
        *pause_ms = answer.retry_ms > *pause_ms ? answer.retry_ms : *pause_ms;
        return status;
    }
    bool late = call->deadline_ms != 0 && sandlot_now_ms() >= call->deadline_ms;

    if (status == SANDLOT_TIMEOUT && !late)
        status = SANDLOT_UNAVAILABLE;
    return answer.status >= 300 ? refuse(call, kubernetes, target, order, &answer) : attempt_fail(&attempt, status);
}

enum sandlot_status exec_open(struct sandlot_call *call, struct kubernetes *kubernetes, const struct exec_order *order,
                              struct exec *exec)
{
    enum sandlot_status settled = access_settle(call, &kubernetes->access);

    *exec = (struct exec){0};
    if (settled != SANDLOT_OK)
        return settled;
    AUTO_FREE char *target = make_target(kubernetes, order);
    bool fresh = false;

    if (!target)
        return http_no_memory(call);
    for (int number = 1;; number++) {
        int64_t pause_ms = -1;
        enum sandlot_status status = connect_or_wait(call, kubernetes, target, order, exec, number, &fresh, &pause_ms);

        if (pause_ms < 0)
            return status;
        if (!pause_for(call, pause_ms))
            return sandlot_cancelled(call)
                       ? sandlot_fail(call, SANDLOT_CANCELLED,
                                      "the command was cancelled; run it again if that was not meant")
                       : sandlot_fail(call, SANDLOT_TIMEOUT,
                                      "Kubernetes had no time for a command until the deadline; try again");
    }
}

/* ---- talking ----------------------------------------------------------------------------------------------------- */

enum sandlot_status exec_send(struct sandlot_call *call, struct exec *exec, enum exec_channel channel,
                              const void *bytes, size_t length)
{
    unsigned char message[EXEC_PIECE + 1];
    enum sandlot_status status = SANDLOT_OK;

    message[0] = (unsigned char)channel;
    for (size_t at = 0; at < length && status == SANDLOT_OK;) {
        size_t piece = length - at < EXEC_PIECE ? length - at : EXEC_PIECE;

        memcpy(message + 1, (const char *)bytes + at, piece);
        status = websocket_send(call, exec->socket, WEBSOCKET_BINARY, message, piece + 1);
        at += piece;
    }
    return status;
}

enum sandlot_status exec_post(struct sandlot_call *call, struct exec *exec, void *piece, size_t length)
{
    *(unsigned char *)piece = EXEC_INPUT;
    return websocket_post(call, exec->socket, WEBSOCKET_BINARY, piece, length + 1);
}

enum sandlot_status exec_end_input(struct sandlot_call *call, struct exec *exec)
{
    static const unsigned char end[] = {EXEC_CLOSE, EXEC_INPUT};

    return exec->half_close ? websocket_post(call, exec->socket, WEBSOCKET_BINARY, end, sizeof(end)) : SANDLOT_OK;
}

static enum sandlot_status closed(struct sandlot_call *call, const struct exec *exec, int code)
{
    if (exec->ended)
        return SANDLOT_OK;
    return sandlot_fail(call, SANDLOT_UNAVAILABLE,
                        "Kubernetes closed the connection of a command (%d) without saying how it ended; try again",
                        code);
}

enum sandlot_status exec_take(struct sandlot_call *call, struct exec *exec, int wake_fd,
                              const struct sandlot_sink *output, bool *over)
{
    struct websocket_message message;
    enum sandlot_status status = websocket_receive(call, exec->socket, wake_fd, &message);
    const unsigned char *bytes = message.bytes;

    if (status == SANDLOT_OK)
        exec->heard_ms = sandlot_now_ms();
    *over = status == SANDLOT_OK && message.kind == WEBSOCKET_CLOSED;
    if (*over)
        return closed(call, exec, message.code);
    if (status != SANDLOT_OK || message.kind != WEBSOCKET_BINARY || message.length < 2)
        return status; /* the first message of the server is an empty one */
    if (bytes[0] == EXEC_OUTPUT || bytes[0] == EXEC_ERROR)
        return output ? output->write(output, bytes + 1, message.length - 1) : SANDLOT_OK;
    if (bytes[0] == EXEC_STATUS)
        exec->ended = status_read((const char *)bytes + 1, message.length - 1, &exec->status);
    return SANDLOT_OK;
}

enum sandlot_status exec_ping(struct sandlot_call *call, struct exec *exec)
{
    return websocket_is_posting(exec->socket) ? SANDLOT_OK
                                              : websocket_post(call, exec->socket, WEBSOCKET_PING, NULL, 0);
}

enum sandlot_status exec_finish(struct sandlot_call *call, struct exec *exec, const struct sandlot_sink *output)
{
    struct attempt attempt;
    bool over = false;
    enum sandlot_status status = SANDLOT_OK;

    attempt_begin(&attempt, call, LAST_WORDS_MS);
    while (status == SANDLOT_OK && !over)
        status = exec_take(&attempt.call, exec, -1, output, &over);
    return status == SANDLOT_TIMEOUT || status == SANDLOT_UNAVAILABLE || status == SANDLOT_OK
               ? SANDLOT_OK
               : attempt_fail(&attempt, status);
}

void exec_free(struct exec *exec)
{
    websocket_free(exec->socket);
    exec->socket = NULL;
}

#include "line.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/base64.h>
#include <sandlot/sdk/cleanup.h>

#include <inttypes.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#define STREAM "$sandbox.stream."

enum {
    PING_S = 2,
    SILENCE_MS = 30 * 1000, /* of one that answers pings else */
    ALIVE_MS = 3000,
    NO_METHOD = -32601,
    WRONG_PARAMETERS = -32602
};

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static bool set_up(struct line *line)
{
    const struct itimerspec often = {.it_interval.tv_sec = PING_S, .it_value.tv_sec = PING_S};

    line->awaited = -1;
    line->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    line->ready_fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
    return line->timer_fd >= 0 && line->ready_fd >= 0 && timerfd_settime(line->timer_fd, 0, &often, NULL) == 0;
}

enum sandlot_status line_open(struct sandlot_call *call, struct http_client *client, const char *target,
                              const char *const *headers, struct http_response *answer, struct line **line)
{
    const struct websocket_request request = {.target = target, .headers = headers, .answer = answer};
    struct line *made = calloc(1, sizeof(*made));

    *line = NULL;
    if (!made || !set_up(made)) {
        line_free(made);
        return sandlot_fail(call, SANDLOT_INTERNAL, "there is nothing left to make a line to Deno of; close some");
    }
    enum sandlot_status status = websocket_open(call, client, &request, &made->socket);

    if (status != SANDLOT_OK) {
        line_free(made);
        return status;
    }
    made->heard_ms = sandlot_now_ms();
    *line = made;
    return SANDLOT_OK;
}

void line_free(struct line *line)
{
    if (!line)
        return;
    websocket_free(line->socket);
    cleanup_close(&line->timer_fd);
    cleanup_close(&line->ready_fd);
    json_object_put(line->document);
    free(line->decoded);
    free(line);
}

static enum sandlot_status broken(struct sandlot_call *call, struct line *line, const char *why)
{
    line->broken = true;
    return sandlot_fail(call, SANDLOT_UNAVAILABLE, "the line to Deno's sandbox broke: %s; try again", why);
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

static enum sandlot_status send_text(struct sandlot_call *call, struct line *line, const char *text, size_t length)
{
    enum sandlot_status status = websocket_send(call, line->socket, WEBSOCKET_TEXT, text, length);

    /* What was cut off in the middle of a message goes on with the next one. */
    line->broken = line->broken || (status != SANDLOT_OK && status != SANDLOT_CANCELLED && status != SANDLOT_TIMEOUT);
    return status;
}

static enum sandlot_status send_message(struct sandlot_call *call, struct line *line, const char *method, int64_t id,
                                        struct json_builder *params)
{
    struct json_builder message = {0};
    size_t length;
    bool built = !params->failed;

    json_set_string(&message, "jsonrpc", "2.0");
    if (id >= 0)
        json_set_integer(&message, "id", id);
    json_set_string(&message, "method", method);
    json_set_object(params, "");
    json_set_value(&message, "params", params->root);
    *params = (struct json_builder){0};
    AUTO_FREE char *text = json_finish(&message, &length);

    return built && text ? send_text(call, line, text, length)
                         : sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                                        "what is to be asked of Deno's sandbox is no UTF-8, or there is not enough "
                                        "memory");
}

enum sandlot_status line_ask(struct sandlot_call *call, struct line *line, const char *method,
                             struct json_builder *params, int64_t *id)
{
    int64_t mine = line->next_id++;

    if (id)
        *id = mine;
    return send_message(call, line, method, mine, params);
}

enum sandlot_status line_tell(struct sandlot_call *call, struct line *line, const char *action, int64_t stream)
{
    struct json_builder params = {0};
    char method[64];

    snprintf(method, sizeof(method), STREAM "%s", action);
    json_set_integer(&params, "streamId", stream);
    return send_message(call, line, method, -1, &params);
}

/* Made by hand: a document of so many bytes would be copied thrice. */
enum sandlot_status line_enqueue(struct sandlot_call *call, struct line *line, int64_t stream, const void *bytes,
                                 size_t length)
{
    char head[128];
    int size = snprintf(head, sizeof(head),
                        "{\"jsonrpc\":\"2.0\",\"method\":\"" STREAM "enqueue\",\"params\":{\"streamId\":%" PRId64
                        ",\"data\":\"",
                        stream);
    AUTO_FREE char *text = malloc((size_t)size + (length + 2) / 3 * 4 + 3);

    if (!text)
        return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for a piece of a file; free some");
    memcpy(text, head, (size_t)size);
    size_t end = (size_t)size + base64_write(text + size, bytes, length);

    memcpy(text + end, "\"}}", 3);
    return send_text(call, line, text, end + 3);
}

/* ---- what comes -------------------------------------------------------------------------------------------------- */

static void keep_text(char *to, size_t capacity, struct json_object *document, const char *name)
{
    const char *text = "";

    json_find_string(document, name, &text, NULL);
    snprintf(to, capacity, "%s", text);
}

static void take_fault(struct line_message *message, struct json_object *error)
{
    message->failed = true;
    if (!json_object_is_type(error, json_type_object))
        return;
    keep_text(message->fault.code, sizeof(message->fault.code), error, "code");
    keep_text(message->fault.class, sizeof(message->fault.class), error, "constructorName");
    keep_text(message->fault.text, sizeof(message->fault.text), error, "message");
}

/* Both {"ok": ...} and {"error": ...} are answers of the sandbox; an error beside `result` is one of the protocol. */
static bool take_answer(struct line_message *message, struct json_object *document)
{
    struct json_object *result = json_object_object_get(document, "result");
    struct json_object *error = json_object_object_get(document, "error");

    message->kind = LINE_ANSWER;
    if (error) {
        take_fault(message, error);
        message->fault.code[0] = '\0'; /* it is a number there */
        message->fault.protocol = -1;
        json_find_integer(error, "code", &message->fault.protocol, NULL);
        return true;
    }
    if (!json_object_is_type(result, json_type_object))
        return false;
    if (json_object_object_get_ex(result, "error", &error))
        take_fault(message, error);
    else if (!json_object_object_get_ex(result, "ok", &message->ok))
        return false;
    return true;
}

static bool take_bytes(struct line *line, struct line_message *message, struct json_object *params)
{
    struct json_object *data = json_object_object_get(params, "data");
    size_t length = json_object_is_type(data, json_type_string) ? (size_t)json_object_get_string_len(data) : 0;

    message->kind = LINE_BYTES;
    if (!json_object_is_type(data, json_type_string))
        return false;
    free(line->decoded);
    line->decoded = malloc(length / 4 * 3 + 1);
    if (!line->decoded)
        return false;
    message->length = base64_read(line->decoded, json_object_get_string(data), length);
    message->bytes = line->decoded;
    return message->length != SIZE_MAX;
}

/* What is not known is passed over: there are notifications about things that were not asked for. */
static bool take_notification(struct line *line, struct line_message *message, struct json_object *document)
{
    const char *method = "";
    struct json_object *params = NULL;

    if (!json_read_string(document, "method", &method, NULL))
        return false;
    if (strncmp(method, STREAM, strlen(STREAM)) != 0)
        return true;
    if (!json_read_object(document, "params", &params, NULL) ||
        !json_read_integer(params, "streamId", &message->id, NULL))
        return false;
    method += strlen(STREAM);
    if (strcmp(method, "enqueue") == 0)
        return take_bytes(line, message, params);
    if (strcmp(method, "error") == 0)
        take_fault(message, json_object_object_get(params, "error"));
    if (strcmp(method, "end") == 0 || message->failed)
        message->kind = LINE_END;
    else if (strcmp(method, "cancel") == 0)
        message->kind = LINE_CANCEL;
    return true;
}

static enum sandlot_status take_document(struct sandlot_call *call, struct line *line, const char *text, size_t length,
                                         struct line_message *message)
{
    json_object_put(line->document);
    line->document = json_read_document(text, length, NULL);
    if (!json_object_is_type(line->document, json_type_object))
        return broken(call, line, "what came is no message of JSON-RPC");
    bool answer = json_object_object_get_ex(line->document, "id", NULL);

    if (answer ? !json_read_integer(line->document, "id", &message->id, NULL) || !take_answer(message, line->document)
               : !take_notification(line, message, line->document))
        return broken(call, line, "a message that came makes no sense");
    if (answer && message->id == line->awaited) {
        line->awaited = -1;
        message->kind = LINE_NOTHING;
        line->take(line->context, message);
    }
    return SANDLOT_OK;
}

/* Every two seconds, whatever else is going on. */
static enum sandlot_status keep_alive(struct sandlot_call *call, struct line *line)
{
    uint64_t times;

    if (read(line->timer_fd, &times, sizeof(times)) != (ssize_t)sizeof(times))
        return SANDLOT_OK;
    if (line->pongs && sandlot_now_ms() - line->heard_ms > SILENCE_MS)
        return broken(call, line, "the other side says nothing any more");
    if (line->tick)
        line->tick(call, line->context, line);
    return send_text(call, line, "ping", 4);
}

/* One message, or none: WAKE_FD was readable, or what came was for nobody. */
static enum sandlot_status receive_once(struct sandlot_call *call, struct line *line, int wake_fd,
                                        struct line_message *message)
{
    struct websocket_message received;
    enum sandlot_status status = websocket_receive(call, line->socket, wake_fd, &received);
    char why[64];

    *message = (struct line_message){.kind = LINE_NOTHING, .id = -1};
    if (status != SANDLOT_OK) {
        line->broken = line->broken || (status != SANDLOT_CANCELLED && status != SANDLOT_TIMEOUT);
        return status == SANDLOT_INTERNAL ? SANDLOT_UNAVAILABLE : status;
    }
    if (received.kind == WEBSOCKET_NOTHING)
        return SANDLOT_OK;
    line->heard_ms = sandlot_now_ms();
    snprintf(why, sizeof(why), "it was closed (%d)", received.code);
    if (received.kind == WEBSOCKET_CLOSED)
        return broken(call, line, why);
    if (received.length == 4 && memcmp(received.bytes, "pong", 4) == 0) {
        line->pongs = true;
        return SANDLOT_OK;
    }
    return take_document(call, line, received.bytes, received.length, message);
}

enum sandlot_status line_receive(struct sandlot_call *call, struct line *line, struct line_message *message)
{
    enum sandlot_status status;

    do {
        status = receive_once(call, line, line->timer_fd, message);
        if (status == SANDLOT_OK)
            status = keep_alive(call, line);
    } while (status == SANDLOT_OK && message->kind == LINE_NOTHING);
    return status;
}

enum sandlot_status line_look(struct sandlot_call *call, struct line *line, int wake_fd, struct line_message *message)
{
    struct pollfd wake = {wake_fd, POLLIN, 0};

    for (;;) {
        struct attempt attempt;
        int64_t before_ms = line->heard_ms;

        attempt_begin(&attempt, call, PING_S * 1000);
        enum sandlot_status status = receive_once(&attempt.call, line, wake_fd < 0 ? line->ready_fd : wake_fd, message);

        int64_t end_ms = attempt_deadline(call); /* what is waited for may move it */
        bool only_time = status == SANDLOT_TIMEOUT && (end_ms == 0 || sandlot_now_ms() < end_ms);

        if (status != SANDLOT_OK && !only_time)
            return attempt_fail(&attempt, status);
        status = keep_alive(call, line);
        if (status != SANDLOT_OK || message->kind != LINE_NOTHING || (wake_fd < 0 && line->heard_ms == before_ms) ||
            (wake_fd >= 0 && poll(&wake, 1, 0) > 0))
            return status;
    }
}

bool line_is_alive(struct sandlot_call *call, struct line *line)
{
    struct attempt attempt;
    struct line_message message;
    int64_t heard_ms = line->heard_ms;

    attempt_begin(&attempt, call, ALIVE_MS);
    enum sandlot_status status = send_text(&attempt.call, line, "ping", 4);

    while (status == SANDLOT_OK && line->heard_ms == heard_ms)
        status = receive_once(&attempt.call, line, -1, &message);
    return status == SANDLOT_OK;
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

enum sandlot_status line_call(struct sandlot_call *call, struct line *line, const char *method,
                              struct json_builder *params, struct line_message *answer)
{
    int64_t id;
    enum sandlot_status status = line_ask(call, line, method, params, &id);

    do {
        if (status == SANDLOT_OK)
            status = line_receive(call, line, answer);
    } while (status == SANDLOT_OK && (answer->kind != LINE_ANSWER || answer->id != id));
    return status;
}

enum sandlot_status line_fail(struct sandlot_call *call, const struct line_fault *fault, const char *doing)
{
    enum sandlot_status status = fault->protocol == 0                  ? SANDLOT_INTERNAL
                                 : fault->protocol == NO_METHOD        ? SANDLOT_UNSUPPORTED
                                 : fault->protocol == WRONG_PARAMETERS ? SANDLOT_INVALID_ARGUMENT
                                                                       : SANDLOT_UNAVAILABLE;

    return sandlot_fail(call, status, "Deno's sandbox could not %s: %s", doing,
                        fault->text[0]    ? fault->text
                        : fault->class[0] ? fault->class
                                          : "it does not say why; try again");
}

enum sandlot_status line_do(struct sandlot_call *call, struct line *line, const char *method,
                            struct json_builder *params, struct line_message *answer, const char *doing)
{
    enum sandlot_status status = line_call(call, line, method, params, answer);

    return status == SANDLOT_OK && answer->failed ? line_fail(call, &answer->fault, doing) : status;
}

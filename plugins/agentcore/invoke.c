#include "invoke.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/event_stream.h>
#include <sandlot/sdk/http.h>
#include <sandlot/sdk/json.h>
#include <sandlot/sdk/pause.h>

#include <string.h>

enum {
    LONGEST_MESSAGE = 64 << 20,
    ANSWER_MS = 20 * 1000, /* for the answer after the tool's end */
    CROWDED = 402,         /* if it is told before the stream */
    ATTEMPTS = 4,
    FIRST_PAUSE_MS = 250
};

/* An answer under way. */
struct answer {
    const struct sandlot_sink *output;
    struct invoked *invoked;
    bool heard;                 /* there was a result */
    enum sandlot_status status; /* of an exception */
    const char *advice;         /* about it */
    enum sandlot_status written;
    char said[400];
};

/* ---- events ------------------------------------------------------------------------------------------------------ */

static enum sandlot_status pass_on(struct answer *answer, struct json_object *result, const char *member)
{
    struct json_object *text = NULL;

    json_object_object_get_ex(result, member, &text);
    size_t length = json_object_is_type(text, json_type_string) ? (size_t)json_object_get_string_len(text) : 0;

    if (length > 0 && answer->output && answer->written == SANDLOT_OK)
        answer->written = answer->output->write(answer->output, json_object_get_string(text), length);
    return answer->written;
}

/* The first text of a result, which says what was wrong. */
static void keep_text(struct invoked *invoked, struct json_object *result)
{
    struct json_object *content = NULL;
    const char *text = NULL;

    if (json_read_array(result, "content", &content, NULL) && json_read_string(content, "[0].text", &text, NULL))
        http_error_text(text, strlen(text), invoked->said, sizeof(invoked->said));
}

/* What a command printed is in `stdout` or, if it failed, in `stderr`. */
static enum sandlot_status take_result(struct answer *answer, struct json_object *result)
{
    struct json_object *structured = NULL;
    bool refused = false;

    json_find_boolean(result, "isError", &refused, NULL);
    answer->heard = true;
    answer->invoked->refused = answer->invoked->refused || refused;
    if (refused)
        keep_text(answer->invoked, result);
    if (!json_read_object(result, "structuredContent", &structured, NULL))
        return SANDLOT_OK;
    answer->invoked->structured = true;
    enum sandlot_status status = pass_on(answer, structured, "stdout");

    return status == SANDLOT_OK ? pass_on(answer, structured, "stderr") : status;
}

static void take_exception(struct answer *answer, const struct event_stream_message *message)
{
    char said[300] = "";

    http_error_text(message->payload, message->length, said, sizeof(said));
    answer->status = message->kind == EVENT_STREAM_EXCEPTION ? api_status_of(message->type) : SANDLOT_UNAVAILABLE;
    answer->advice = answer->status == SANDLOT_NOT_FOUND ? "it has ended, so create another one"
                                                         : api_advice(answer->status, message->type);
    answer->invoked->crowded = answer->status == SANDLOT_EXHAUSTED;
    snprintf(answer->said, sizeof(answer->said), "%.64s: %.300s", *message->type ? message->type : "an error",
             *said ? said : message->text);
}

static enum sandlot_status on_message(void *context, const struct event_stream_message *message)
{
    struct answer *answer = context;

    if (message->kind != EVENT_STREAM_EVENT) {
        take_exception(answer, message);
        return SANDLOT_OK;
    }
    if (strcmp(message->type, "result") != 0)
        return SANDLOT_OK;
    AUTO_DOCUMENT struct json_object *result = json_read_document(message->payload, message->length, NULL);

    return json_object_is_type(result, json_type_object) ? take_result(answer, result) : SANDLOT_OK;
}

/* ---- one use ----------------------------------------------------------------------------------------------------- */

/* How an answer that came in full ended. A damaged end behind a result is none of ours. */
static enum sandlot_status conclude(struct sandlot_call *call, const struct sandbox *sandbox,
                                    const struct answer *answer)
{
    if (answer->written != SANDLOT_OK)
        return answer->written;
    if (answer->status != SANDLOT_OK)
        return sandlot_fail(call, answer->status, "AgentCore's session %.40s refused (%s); %s", sandbox->id,
                            answer->said, answer->advice);
    return sandlot_fail(call, SANDLOT_UNAVAILABLE, "AgentCore's session %.40s gave no answer that is whole; try again",
                        sandbox->id);
}

enum sandlot_status invoke(struct sandlot_call *call, struct sandbox *sandbox, const struct invocation *invocation,
                           struct invoked *invoked)
{
    struct answer answer = {.output = invocation->output, .invoked = invoked};
    AUTO_RESPONSE struct http_response response = {0};
    struct event_stream reader;
    const struct api_request request = {
        .method = "POST",
        .operation = "/tools/invoke",
        .session = sandbox->id,
        .body = invocation->body,
        .length = invocation->length,
        .sink = &reader.sink,
        .silence_ms = invocation->longest_ms + ANSWER_MS,
        .after_cancel = invocation->urgent,
    };

    *invoked = (struct invoked){0};
    event_stream_init(&reader, NULL, LONGEST_MESSAGE, on_message, &answer);
    enum sandlot_status status = api_send(call, sandbox->agentcore, &request, &response);
    bool damaged = event_stream_end(&reader) != SANDLOT_OK;

    event_stream_clear(&reader);
    invoked->crowded = invoked->crowded || response.status == CROWDED;
    /* The reader has told nobody, lest a damaged answer be the end of what is asked for again. */
    if (status == SANDLOT_OK || (status == SANDLOT_INTERNAL && damaged) || answer.written != SANDLOT_OK)
        return answer.heard && !damaged && answer.status == SANDLOT_OK && answer.written == SANDLOT_OK
                   ? SANDLOT_OK
                   : conclude(call, sandbox, &answer);
    return status;
}

/* ---- several uses ------------------------------------------------------------------------------------------------ */

enum sandlot_status invoke_surely(struct sandlot_call *call, struct sandbox *sandbox,
                                  const struct invocation *invocation, const char *what)
{
    struct invoked invoked;
    enum sandlot_status status = invoke(call, sandbox, invocation, &invoked);

    for (int i = 1; i < ATTEMPTS && (status == SANDLOT_UNAVAILABLE || invoked.crowded); i++) {
        if (!pause_for(call, FIRST_PAUSE_MS << i))
            break;
        status = invoke(call, sandbox, invocation, &invoked);
    }
    if (status != SANDLOT_OK || !invoked.refused)
        return status;
    return sandlot_fail(call, SANDLOT_INTERNAL,
                        "AgentCore's session %.40s could not %s (%s); see whether its disk is full", sandbox->id, what,
                        *invoked.said ? invoked.said : "it does not say why");
}

char *invoke_body(const char *tool, const char *argument, const char *text, size_t *length)
{
    struct json_builder body = {0};
    char path[64];

    snprintf(path, sizeof(path), "arguments.%s", argument);
    json_set_string(&body, "name", tool);
    json_set_string(&body, path, text);
    return json_finish(&body, length);
}

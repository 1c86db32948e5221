#include "command.h"

#include "upload.h"

#include <inttypes.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/remote_command.h>
#include <sandlot/sdk/sse.h>
#include <string.h>

enum {
    HOLD_MS = 60 * 1000,
    OPTIMISTIC_S = 2,      /* what ends so soon needs one request; the rest is streamed */
    ANSWER_MS = 20 * 1000, /* for the answer after the script's end */
    URGENT_MS = 900,
    LONGEST_ANSWER = 64 << 20,
    LONGEST_EVENT = 16 << 20,
    BREAKS = 4,   /* of a stream, without a byte between them */
    WINDOW_S = 25 /* of one wait for the end */
};

/* ---- one script -------------------------------------------------------------------------------------------------- */

/* A script under way. */
struct script {
    struct sandlot_call *call;
    struct sandbox *sandbox;
    const struct sandlot_sink *output;
    char id[RANDOM_UUID_SIZE]; /* of the command, and so of its execution */
    int64_t end_ms;
    char *reason; /* of a failure that need not be one */
    size_t capacity;
};

static enum sandlot_status ask_again(const struct script *script, const char *why)
{
    snprintf(script->reason, script->capacity, "Runloop's devbox %.100s %s; try again", script->sandbox->id, why);
    return SANDLOT_UNAVAILABLE;
}

/* ---- the stream -------------------------------------------------------------------------------------------------- */

struct stream {
    const struct script *script;
    struct sse reader;
    uint64_t bytes; /* of the output that have come: where to go on after a break */
    bool broken;    /* the service ended it, though there is more... */
    bool idle;      /* ...because nothing came for a while */
};

static enum sandlot_status on_event(void *context, const struct sse_event *event)
{
    struct stream *stream = context;
    struct json_error error;
    AUTO_DOCUMENT struct json_object *document = json_read_document(event->data, event->length, &error);

    const bool well = json_object_is_type(document, json_type_object);

    if (strcmp(event->type, "error") == 0 || !well) {
        const char *code = well ? json_object_get_string(json_object_object_get(document, "code")) : NULL;

        stream->broken = stream->reader.finished = true;
        stream->idle = code && strcmp(code, "408") == 0;
        return SANDLOT_OK;
    }
    return json_write_member(document, "output", stream->script->output, &stream->bytes);
}

/* Reads the stream until it ends or breaks. */
static enum sandlot_status read_stream(struct stream *stream)
{
    static const char *const headers[] = {"Accept: text/event-stream", NULL};
    const struct script *script = stream->script;
    char offset[24];

    snprintf(offset, sizeof(offset), "%" PRIu64, stream->bytes);
    AUTO_FREE char *target = http_target("/v1/devboxes/{}/executions/{}/stream_stdout_updates?offset={}",
                                         script->sandbox->id, script->id, offset);
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *nothing = NULL;
    int64_t left_ms = script->end_ms - sandlot_now_ms();
    const struct http_request request = {.method = "GET",
                                         .target = target,
                                         .headers = headers,
                                         .sink = &stream->reader.sink,
                                         .enough = &stream->reader.finished,
                                         .timeout_ms = left_ms > 0 ? left_ms : 1,
                                         .silence_ms = -1};

    stream->broken = stream->idle = false;
    sse_init(&stream->reader, script->call, LONGEST_EVENT, on_event, stream);
    enum sandlot_status status = api_send(script->call, script->sandbox->runloop, &request, NULL, &response, &nothing);

    sse_clear(&stream->reader);
    return status;
}

/* ---- without a stream -------------------------------------------------------------------------------------------- */

static char *wait_body(void)
{
    struct json_builder body = {0};

    json_set_string(&body, "statuses[]", "completed");
    json_set_integer(&body, "timeout_seconds", WINDOW_S);
    return json_finish(&body, NULL);
}

/* Waits for the end of the execution, whose output comes only then. */
static enum sandlot_status wait_for_end(const struct script *script)
{
    static const int window_over[] = {408, 0};

    while (sandlot_now_ms() < script->end_ms) {
        AUTO_DOCUMENT struct json_object *answer = NULL;
        const struct api_order order = {.method = "POST",
                                        .target =
                                            http_target("/v1/devboxes/{}/executions/{}/wait_for_status?last_n=9999",
                                                        script->sandbox->id, script->id),
                                        .body = wait_body(),
                                        .accepted = window_over,
                                        .silence_ms = WINDOW_S * 1000 + ANSWER_MS};
        int code = 0;
        enum sandlot_status status = api_send_order(script->call, script->sandbox->runloop, &order, &code, &answer);

        if (status == SANDLOT_NOT_FOUND)
            break;
        if (status != SANDLOT_OK)
            return status;
        if (code != 408)
            return answer && json_object_is_type(answer, json_type_object)
                       ? json_write_member(answer, "stdout", script->output, NULL)
                       : ask_again(script, "gave no answer to a command that makes sense");
    }
    return ask_again(script, "did not tell all that a command has printed");
}

/* ---- one or the other -------------------------------------------------------------------------------------------- */

/* All that the execution prints, from its beginning. */
static enum sandlot_status follow(const struct script *script)
{
    struct stream stream = {.script = script};
    struct pause pause = {.service = "Runloop"};
    int breaks = 0;

    for (;;) {
        uint64_t before = stream.bytes;
        enum sandlot_status status = read_stream(&stream);

        if (status == SANDLOT_OK && !stream.broken)
            return SANDLOT_OK;
        if (status == SANDLOT_NOT_FOUND || status == SANDLOT_UNSUPPORTED || status == SANDLOT_INVALID_ARGUMENT)
            return wait_for_end(script);
        if (sandlot_now_ms() >= script->end_ms)
            return ask_again(script, "did not tell all that a command has printed");
        if (status != SANDLOT_OK && status != SANDLOT_UNAVAILABLE)
            return status;
        /* An idle stream is broken off by the service; that is no fault. */
        breaks = stream.bytes > before || stream.idle ? 0 : breaks + 1;
        if (breaks >= BREAKS)
            return ask_again(script, "breaks off the stream of a command's output");
        if (breaks > 0)
            pause_again(script->call, &pause, &status);
        if (status == SANDLOT_CANCELLED || status == SANDLOT_TIMEOUT)
            return status;
    }
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

/* The answer to an execution that has begun, perhaps ended. What it leaves out the stream has. */
static enum sandlot_status take_answer(struct script *script, struct json_object *answer, bool urgent)
{
    const char *status = "";
    const char *id = NULL;
    bool truncated = false;

    json_find_string(answer, "status", &status, NULL);
    json_find_string(answer, "execution_id", &id, NULL);
    json_find_boolean(answer, "stdout_truncated", &truncated, NULL);
    if (id && strlen(id) < sizeof(script->id))
        snprintf(script->id, sizeof(script->id), "%s", id);
    if (urgent || (strcmp(status, "completed") == 0 && !truncated))
        return json_write_member(answer, "stdout", script->output, NULL);
    return follow(script);
}

/* The service has refused. SANDLOT_UNAVAILABLE: it will hardly do so again. */
static enum sandlot_status after_refusal(const struct script *script, const struct http_request *request,
                                         const struct http_response *response)
{
    struct http_client *client;
    bool running;

    remote_wait_begin(script->call);
    enum sandlot_status status = sandbox_wake(script->call, script->sandbox, &running);

    remote_wait_end(script->call);
    if (status == SANDLOT_OK && !running)
        return ask_again(script, "was not running");
    if (status == SANDLOT_OK)
        status = api_client(script->call, script->sandbox->runloop, &client);
    return status == SANDLOT_OK ? http_response_fail(script->call, client, request, response) : status;
}

static char *make_body(const struct script *script, const char *text)
{
    struct json_builder body = {0};

    json_set_string(&body, "command", text);
    json_set_string(&body, "command_id", script->id);
    json_set_integer(&body, "optimistic_timeout", OPTIMISTIC_S);
    return json_finish(&body, NULL);
}

static enum sandlot_status run_script(struct sandlot_call *call, void *context, const struct remote_script *wanted,
                                      const struct sandlot_sink *output, char *reason, size_t capacity)
{
    static const int answers[] = {SANDBOX_REFUSALS, 408, 0};
    struct sandbox *sandbox = context;
    struct script script = {.call = call,
                            .sandbox = sandbox,
                            .output = output,
                            .end_ms = sandlot_now_ms() + wanted->longest_ms + ANSWER_MS,
                            .reason = reason,
                            .capacity = capacity};

    random_uuid_by_time(script.id);
    AUTO_FREE char *target = http_target("/v1/devboxes/{}/execute?last_n=9999", sandbox->id);
    AUTO_FREE char *body = make_body(&script, wanted->text);
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    const struct http_request request = {
        .method = "POST",
        .target = target,
        .body = {.bytes = body, .length = body ? strlen(body) : 0},
        .accepted = answers,
        .repeatable = true, /* the script sees to it that nothing runs twice */
        .limit = LONGEST_ANSWER,
        .timeout_ms = wanted->urgent ? URGENT_MS : 0,
        .silence_ms = OPTIMISTIC_S * 1000 + ANSWER_MS,
    };

    if (!body)
        return http_no_memory(call);
    enum sandlot_status status = api_send(call, sandbox->runloop, &request, script.id, &response, &answer);

    /* A damaged answer is not worth an error: what is missing is asked for again. */
    if (status == SANDLOT_UNAVAILABLE || (status == SANDLOT_INTERNAL && response.status == 200) ||
        (status == SANDLOT_OK && answer && !json_object_is_type(answer, json_type_object)))
        return ask_again(&script, "gave no answer to a command that makes sense");
    if (status != SANDLOT_OK)
        return status;
    if (sandbox_is_refusal(response.status))
        return wanted->urgent ? ask_again(&script, "refused to end a command")
                              : after_refusal(&script, &request, &response);
    if (response.status == 408) /* it runs, but for this request the time is up */
        return wanted->urgent ? SANDLOT_OK : follow(&script);
    return answer ? take_answer(&script, answer, wanted->urgent)
                  : ask_again(&script, "gave an empty answer to a command");
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

REMOTE_COMMAND(command_execute, command_clean_up, .run = run_script, .put = upload_new_file, .hold_ms = HOLD_MS,
               .streams = true)

/*
 * POST .../contexts starts a program and, with wait_until_done, answers when it has ended. The service keeps the last
 * mebibyte of each stream, as text; whoever breaks the connection does not hear of it any more, and what has ended is
 * kept for ever. remote_command.h makes of this what execute promises; every context is deleted when it has been read.
 */
#include "operations.h"

#include <sandlot/sdk/attempt.h>
#include <string.h>

enum {
    HOLD_MS = 30 * 1000,
    ANSWER_MS = 20 * 1000,    /* for the answer after the script's end */
    ANSWER_BYTES = 640 << 10, /* which is in base64 then, and must stay below what the service keeps */
    NET_S = 60,               /* after so much more the service ends what nobody has ended */
    FORGET_MS = 5000          /* for what is done beside commands */
};

/* ---- contexts -------------------------------------------------------------------------------------------------- */

/* The shell of whoever logs in, for it has the PATH that people expect; where there is none, whatever sh there is. */
static char *make_body(const struct sandbox *sandbox, const char *script, int64_t longest_ms, size_t *length)
{
    struct json_builder body = {0};

    json_set_string(&body, "type", "cmd");
    json_set_string(&body, "cmd.command[]", sandbox->plain ? "sh" : "bash");
    json_set_string(&body, "cmd.command[]", sandbox->plain ? "-c" : "-lc");
    json_set_string(&body, "cmd.command[]", script);
    json_set_boolean(&body, "wait_until_done", true);
    json_set_string(&body, "cwd", sandbox->plain ? "/" : WORKING_DIR);
    json_set_integer(&body, "ttl_sec", longest_ms / 1000 + NET_S);
    return json_finish(&body, length);
}

/* What has ended would stay in the sandbox's memory. Whether that is achieved does not matter to the command. */
static void forget(struct sandlot_call *call, struct sandbox *sandbox, const char *context)
{
    static const int gone[] = {404, 503, 0};
    const struct rest_request order = {.method = "DELETE",
                                       .target = http_target(SANDBOXES "/{}/contexts/{}", sandbox->id, context),
                                       .never_repeat = true,
                                       .accepted = gone,
                                       .timeout_ms = FORGET_MS};
    struct attempt attempt;

    attempt_begin(&attempt, call, FORGET_MS);
    api_send(&attempt.call, sandbox->sandbox0, order, NULL, NULL);
}

/* Older services tell of both streams in one, and of each alone nothing, or that it is empty. */
static enum sandlot_status pass_on(struct json_object *data, const struct sandlot_sink *output)
{
    const char *text = NULL;
    const bool older = json_find_string(data, "stdout", &text, NULL) && (!text || *text == '\0');

    return json_write_member(data, older ? "output_raw" : "stdout", output, NULL);
}

/* An answer that is damaged is not worth an error: what is missing is asked for again. */
static enum sandlot_status take(struct sandlot_call *call, struct sandbox *sandbox,
                                const struct http_response *response, const struct sandlot_sink *output, char *reason,
                                size_t capacity)
{
    AUTO_DOCUMENT struct json_object *answer = json_read_document(response->body, response->length, NULL);
    struct json_object *data = NULL;
    const char *context = NULL;

    if (!answer || !json_read_object(answer, "data", &data, NULL) || !json_read_string(data, "id", &context, NULL)) {
        snprintf(reason, capacity, SERVICE "'s answer to a command makes no sense; try again");
        return SANDLOT_UNAVAILABLE;
    }
    enum sandlot_status status = pass_on(data, output);

    forget(call, sandbox, context);
    return status;
}

static enum sandlot_status send(struct sandlot_call *call, struct sandbox *sandbox, const char *script,
                                int64_t longest_ms, struct http_response *response)
{
    static const int refusals[] = {500, 503, 0};
    size_t length = 0;
    AUTO_FREE char *body = make_body(sandbox, script, longest_ms, &length);
    AUTO_FREE char *target = http_target(SANDBOXES "/{}/contexts", sandbox->id);
    const struct http_request request = {.method = "POST",
                                         .target = target,
                                         .body = {.bytes = body, .length = length},
                                         .accepted = refusals,
                                         .repeatable = true, /* the script sees to it that nothing runs twice */
                                         .timeout_ms = longest_ms + ANSWER_MS,
                                         .silence_ms = longest_ms + ANSWER_MS};

    if (!body)
        return http_no_memory(call);
    return sandbox_send(call, sandbox, &request, response);
}

/* One context. 500 is also for what could not be started at all. */
static enum sandlot_status run_context(struct sandlot_call *call, struct sandbox *sandbox, const char *script,
                                       int64_t longest_ms, const struct sandlot_sink *output, char *reason,
                                       size_t capacity)
{
    AUTO_RESPONSE struct http_response response = {0};
    enum sandlot_status status = send(call, sandbox, script, longest_ms, &response);

    if (status == SANDLOT_OK && response.status == 500 && !sandbox->plain && api_says(&response, "create_failed")) {
        sandbox->plain = true;
        http_response_clear(&response);
        status = send(call, sandbox, script, longest_ms, &response);
    }
    if (status != SANDLOT_OK)
        return status;
    if (response.status < 300)
        return take(call, sandbox, &response, output, reason, capacity);
    return http_response_fail(call, sandbox->sandbox0->client, NULL, &response);
}

/* ---- commands -------------------------------------------------------------------------------------------------- */

static enum sandlot_status run_script(struct sandlot_call *call, void *context, const struct remote_script *script,
                                      const struct sandlot_sink *output, char *reason, size_t capacity)
{
    return run_context(call, context, script->text, script->longest_ms, output, reason, capacity);
}

REMOTE_COMMAND(command_execute, command_clean_up, .run = run_script, .put = files_put, .hold_ms = HOLD_MS,
               .working_dir = ((struct sandbox *)sandbox)->plain ? NULL : WORKING_DIR, .answer_bytes = ANSWER_BYTES)

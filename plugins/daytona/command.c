#include "command.h"

#include "upload.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/remote_command.h>
#include <string.h>

enum {
    HOLD_MS = 20 * 1000,   /* silent connections that are older have been seen cut */
    GRACE_S = 10,          /* for the daemon's own limit, which loses the output: ours comes first */
    ANSWER_MS = 20 * 1000, /* for the answer after the script's end */
    URGENT_MS = 900,
    LONGEST_ANSWER = 64 << 20
};

/*
 * The daemon feeds the command to the standard input of whatever shell it finds, zsh perhaps. As a here-document it is
 * sh's alone, and as long as it may be.
 */
static char *make_body(const struct remote_script *script, size_t *length)
{
    struct json_builder body = {0};
    AUTO_FREE char *command = NULL;

    if (asprintf(&command, "sh <<'%s'\n%s\n%s\n", script->id, script->text, script->id) < 0)
        return NULL;
    json_set_string(&body, "command", command);
    json_set_integer(&body, "timeout", (script->longest_ms + 999) / 1000 + GRACE_S);
    return json_finish(&body, length);
}

/* An answer that is damaged or cut is not worth an error: what is missing is asked for again. */
static enum sandlot_status pass_on(const struct http_response *response, const struct sandlot_sink *output,
                                   char *reason, size_t capacity)
{
    struct json_error error;
    AUTO_DOCUMENT struct json_object *answer = json_read_document(response->body, response->length, &error);

    if (!answer || !json_object_is_type(answer, json_type_object)) {
        snprintf(reason, capacity, "Daytona's answer to a command makes no sense; try again");
        return SANDLOT_UNAVAILABLE;
    }
    return json_write_member(answer, "result", output, NULL);
}

/* The toolbox has refused. SANDLOT_UNAVAILABLE: it will hardly do so again. */
static enum sandlot_status after_refusal(struct sandlot_call *call, struct sandbox *sandbox,
                                         const struct remote_script *script, const struct http_request *request,
                                         const struct http_response *response, char *reason, size_t capacity)
{
    snprintf(reason, capacity, "the toolbox of Daytona's sandbox %s did not take a command (status %d); try again",
             sandbox->id, response->status);
    if (response->status == 408)
        return SANDLOT_UNAVAILABLE;
    if (!sandbox_trouble(response))
        return http_response_fail(call, sandbox->toolbox, request, response);
    if (script->urgent)
        return SANDLOT_UNAVAILABLE; /* what does not run has nothing to be ended */
    remote_wait_begin(call);
    enum sandlot_status status = sandbox_wake(call, sandbox);

    remote_wait_end(call);
    return status == SANDLOT_OK ? SANDLOT_UNAVAILABLE : status;
}

static enum sandlot_status run_script(struct sandlot_call *call, void *context, const struct remote_script *script,
                                      const struct sandlot_sink *output, char *reason, size_t capacity)
{
    static const int refusals[] = {400, 401, 404, 408, 502, 0};
    struct sandbox *sandbox = context;
    size_t length = 0;
    AUTO_FREE char *target = http_target("/{}/process/execute", sandbox->id);
    AUTO_FREE char *body = make_body(script, &length);
    AUTO_RESPONSE struct http_response response = {0};
    const struct http_request request = {
        .method = "POST",
        .target = target,
        .type = "application/json",
        .body = {.bytes = body, .length = length},
        .accepted = refusals,
        .repeatable = true, /* the script sees to it that nothing runs twice */
        .limit = LONGEST_ANSWER,
        .timeout_ms = script->urgent ? URGENT_MS : script->longest_ms + ANSWER_MS,
        .after_cancel = script->urgent,
    };

    if (!body)
        return http_no_memory(call);
    enum sandlot_status status = http_send(call, sandbox->toolbox, &request, &response);

    if (status != SANDLOT_OK)
        return status;
    return response.status < 300 ? pass_on(&response, output, reason, capacity)
                                 : after_refusal(call, sandbox, script, &request, &response, reason, capacity);
}

REMOTE_COMMAND(command_execute, command_clean_up, .run = run_script, .put = upload_new_file, .hold_ms = HOLD_MS)

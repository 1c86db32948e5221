/*
 * POST .../cmd starts a program, without a shell, and with `wait` and `logs` answers with lines of JSON: the command as
 * it begins, what it writes, the command with its exit code. Vercel's edge cuts such an answer after some minutes, so
 * scripts end before that and are asked again.
 */
#include "command.h"

#include "upload.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/ndjson.h>
#include <sandlot/sdk/remote_command.h>
#include <sandlot/sdk/text_sink.h>
#include <string.h>

enum {
    HOLD_MS = 200 * 1000,
    SHORTEST_HOLD_MS = 1000,
    GRACE_MS = 10 * 1000,  /* for Vercel's own time limit of a script, which kills */
    ANSWER_MS = 20 * 1000, /* for the answer after the script's end */
    URGENT_MS = 900,
    LONGEST_LINE = 4 << 20
};

/* One execute. */
struct course {
    struct sandbox *sandbox;
    bool sent; /* a script has been taken, or may have been: what it started cannot be started in another session */
};

/* One command of Vercel's, and what its answer says. */
struct sending {
    struct ndjson reader;
    const struct sandlot_sink *output;
    enum sandlot_status sink_status;
    bool heard; /* something that it wrote */
    bool ended; /* its last line has come */
    char id[64];
    char code[64]; /* of an error, in the place of an answer or in the middle of it */
    char message[256];
};

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static void take_error(struct sending *sending, struct json_object *line, const char *place)
{
    const char *code = NULL;
    const char *message = NULL;
    struct json_object *error = json_object_object_get(line, place);

    if (!json_object_is_type(error, json_type_object))
        return;
    json_find_string(error, "code", &code, NULL);
    json_find_string(error, "message", &message, NULL);
    snprintf(sending->code, sizeof(sending->code), "%s", code && *code ? code : "unknown");
    snprintf(sending->message, sizeof(sending->message), "%s", message ? message : "it does not say why");
}

static void take_command(struct sending *sending, struct json_object *line)
{
    const char *id = NULL;
    int64_t code = -1;

    json_find_string(line, "command.id", &id, NULL);
    if (id)
        snprintf(sending->id, sizeof(sending->id), "%s", id);
    if (json_read_integer(line, "command.exitCode", &code, NULL))
        sending->ended = sending->reader.finished = true;
}

static enum sandlot_status take_line(void *context, struct json_object *line)
{
    struct sending *sending = context;
    const char *stream = NULL;

    if (!json_object_is_type(line, json_type_object))
        return SANDLOT_OK;
    if (json_object_object_get_ex(line, "command", NULL))
        take_command(sending, line);
    if (json_object_object_get_ex(line, "error", NULL))
        take_error(sending, line, "error");
    json_find_string(line, "stream", &stream, NULL);
    if (stream && strcmp(stream, "error") == 0)
        take_error(sending, line, "data");
    if (!stream || strcmp(stream, "stdout") != 0)
        return SANDLOT_OK;
    struct json_object *data = json_object_object_get(line, "data");

    sending->heard = true;
    if (!json_object_is_type(data, json_type_string))
        return SANDLOT_OK;
    sending->sink_status =
        sending->output->write(sending->output, json_object_get_string(data), (size_t)json_object_get_string_len(data));
    return sending->sink_status;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static char *make_body(const char *script, const char *const *words, int64_t limit_ms, size_t *length)
{
    struct json_builder body = {0};

    json_set_string(&body, "command", "sh");
    json_set_string(&body, "args[]", "-c");
    json_set_string(&body, "args[]", script);
    if (words)
        json_set_string(&body, "args[]", "sh");
    for (; words && *words; words++)
        json_set_string(&body, "args[]", *words);
    json_set_string(&body, "cwd", "/"); /* the usual one may have been deleted */
    json_set_object(&body, "env");
    json_set_boolean(&body, "sudo", false);
    json_set_boolean(&body, "wait", true);
    json_set_boolean(&body, "logs", true);
    json_set_integer(&body, "timeout", limit_ms);
    return json_finish(&body, length);
}

static enum sandlot_status cut_off(struct sandlot_call *call)
{
    return sandlot_fail(call, SANDLOT_UNAVAILABLE, "Vercel's answer to a command was cut off; try again");
}

/* Sends REQUEST, to which lines are the answer. A refusal that is looked at later is lines too: *STATUS of HTTP. A
 * script OF_COMMAND is sent again by remote_command, so of a 500 is looked first whether it passes. */
static enum sandlot_status send_for_lines(struct sandlot_call *call, struct sandbox *sandbox,
                                          struct http_request *request, bool of_command, struct sending *sending,
                                          int *status)
{
    static const int refusals[] = {400, 404, 410, 413, 422, 0};
    static const int refusals_of_command[] = {400, 404, 410, 413, 422, 500, 0};
    AUTO_RESPONSE struct http_response response = {0};

    ndjson_init(&sending->reader, NULL, LONGEST_LINE, take_line, sending);
    request->sink = &sending->reader.sink;
    request->enough = &sending->reader.finished;
    request->accepted = of_command ? refusals_of_command : refusals;
    request->repeatable = true;
    enum sandlot_status sent = http_send(call, sandbox->vercel->client, request, &response);

    /* A line that makes no sense, or half of one, is an answer that was cut. */
    if ((sent == SANDLOT_OK && ndjson_end(&sending->reader) != SANDLOT_OK) ||
        (sent == SANDLOT_INTERNAL && sending->reader.status == SANDLOT_INTERNAL && sending->sink_status == SANDLOT_OK))
        sent = response.status == 500 ? SANDLOT_OK : cut_off(call);
    ndjson_clear(&sending->reader);
    *status = response.status;
    return sent;
}

/* A server that has no logs to give with the answer gives them to those who ask. */
static enum sandlot_status ask_for_logs(struct sandlot_call *call, struct sandbox *sandbox, struct sending *sending,
                                        int64_t limit_ms)
{
    AUTO_FREE char *operation = NULL;
    AUTO_FREE char *session = NULL;
    AUTO_FREE char *id = http_target("{}", sending->id);
    int status;

    if (!id || asprintf(&operation, "/cmd/%s/logs", id) < 0)
        return http_no_memory(call);
    AUTO_FREE char *target = sandbox_target(call, sandbox, operation, &session);
    struct http_request request = {.method = "GET", .target = target, .timeout_ms = limit_ms, .silence_ms = limit_ms};

    return send_for_lines(call, sandbox, &request, false, sending, &status);
}

/* Vercel's word for it; by which status it comes nobody says. */
static bool is_no_program(const struct sending *sending)
{
    return strcmp(sending->code, "executable_not_found") == 0;
}

static enum sandlot_status no_shell(struct sandlot_call *call, const struct sending *sending)
{
    return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                        "Vercel's sandbox cannot run sh (%.200s); start it from an image that has a shell",
                        sending->message);
}

/* What an error in the place of an answer means; refusals of a session are not among them. */
static enum sandlot_status judge(struct sandlot_call *call, const struct sending *sending, int status)
{
    if (is_no_program(sending))
        return no_shell(call, sending);
    if (status == 500)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "Vercel could not run a command (500): %.250s; try again",
                            sending->message[0] ? sending->message : "it does not say why");
    return sandlot_fail(call, status == 413 ? SANDLOT_UNSUPPORTED : SANDLOT_INVALID_ARGUMENT,
                        "Vercel refuses to run a command (%d): %.250s; look whether the sandbox is as it should be",
                        status, sending->message[0] ? sending->message : "it does not say why");
}

/* A script, and what is done with it. */
struct order {
    const char *script;
    const char *const *words; /* NULL: none */
    int64_t longest_ms;
    bool urgent;
    bool of_command; /* a script of remote_command's */
};

static enum sandlot_status send_once(struct sandlot_call *call, struct sandbox *sandbox, const struct order *order,
                                     struct sending *sending, char **session, int *status)
{
    int64_t limit_ms = order->urgent ? URGENT_MS : order->longest_ms + ANSWER_MS;
    size_t length = 0;
    AUTO_FREE char *body = make_body(order->script, order->words, order->longest_ms + GRACE_MS, &length);
    AUTO_FREE char *target =
        order->urgent ? sandbox_target_now(sandbox, "/cmd") : sandbox_target(call, sandbox, "/cmd", session);
    struct http_request request = {.method = "POST",
                                   .target = target,
                                   .body = {.bytes = body, .length = length},
                                   .timeout_ms = limit_ms,
                                   .silence_ms = limit_ms,
                                   .after_cancel = order->urgent};

    *status = 0;
    if (!body || !target)
        return http_no_memory(call);
    enum sandlot_status sent = send_for_lines(call, sandbox, &request, order->of_command, sending, status);

    if (sent == SANDLOT_OK && *status < 300 && !sending->heard && *sending->id && !*sending->code && !order->urgent)
        sent = ask_for_logs(call, sandbox, sending, limit_ms);
    return sent;
}

static enum sandlot_status lost_with_session(struct sandlot_call *call, const struct sandbox *sandbox)
{
    return sandlot_fail(call, SANDLOT_INTERNAL,
                        "the session of Vercel's sandbox '%.128s' ended while the command ran, so what became of it is "
                        "unknown; look before you run it again, and allow more time by ttl_s",
                        sandbox->name);
}

/* A session that is unknown is over, too; a program that is not there may be said by the same status. */
static bool is_of_session(const struct sending *sending, int status)
{
    return sandbox_is_refusal(status, sending->code) || (status == 404 && !is_no_program(sending));
}

/* Runs ORDER. One that is refused because the session is over has not run, and is given to another one, once. */
static enum sandlot_status carry_out(struct sandlot_call *call, struct course *course, const struct order *order,
                                     struct sending *sending)
{
    for (int attempt = 1;; attempt++) {
        const struct sandlot_sink *output = sending->output;
        AUTO_FREE char *session = NULL;
        int status;
        enum sandlot_status sent = send_once(call, course->sandbox, order, sending, &session, &status);
        bool refused = sent == SANDLOT_OK && is_of_session(sending, status);

        if (!refused) {
            course->sent = true;
            return sent == SANDLOT_OK && status >= 300 ? judge(call, sending, status) : sent;
        }
        if (order->urgent)
            return SANDLOT_UNAVAILABLE;
        if (order->of_command)
            remote_wait_begin(call);
        sent = sandbox_wake(call, course->sandbox, session);
        if (order->of_command)
            remote_wait_end(call);
        if (sent != SANDLOT_OK)
            return sent;
        if (course->sent)
            return lost_with_session(call, course->sandbox);
        if (attempt > 1)
            return sandlot_fail(call, SANDLOT_UNAVAILABLE,
                                "the sessions of Vercel's sandbox '%.128s' end as soon as they have begun (%.60s); try "
                                "again",
                                course->sandbox->name, sending->code);
        *sending = (struct sending){.output = output};
    }
}

/* ---- the channel ------------------------------------------------------------------------------------------------- */

static enum sandlot_status run_script(struct sandlot_call *call, void *context, const struct remote_script *script,
                                      const struct sandlot_sink *output, char *reason, size_t capacity)
{
    struct sending sending = {.output = output};
    const struct order order = {
        .script = script->text, .longest_ms = script->longest_ms, .urgent = script->urgent, .of_command = true};
    enum sandlot_status status = carry_out(call, context, &order, &sending);

    if (*sending.code && (status == SANDLOT_OK || status == SANDLOT_UNAVAILABLE))
        snprintf(reason, capacity, "Vercel broke the command's answer off with \"%s\": %s", sending.code,
                 sending.message);
    return status;
}

static enum sandlot_status put(struct sandlot_call *call, void *context, const char *path,
                               const struct sandlot_source *source, uint64_t length)
{
    const struct course *course = context;

    return upload_new_file(call, course->sandbox, path, source, length);
}

enum sandlot_status command_execute(struct sandlot_call *call, void *provider, void *handle,
                                    const struct sandlot_command *command, const struct sandlot_sink *output,
                                    struct sandlot_exit *result)
{
    struct sandbox *sandbox = handle;
    struct course course = {.sandbox = sandbox};
    int64_t lasts_ms = sandbox_lasts_ms(sandbox) / 2; /* so that no session ends in the middle of a script */
    int64_t hold_ms = lasts_ms > 0 && lasts_ms < HOLD_MS ? lasts_ms : HOLD_MS;

    (void)provider;
    pthread_mutex_lock(&sandbox->lock);
    AUTO_FREE char *folder = strdup(sandbox->working_dir);

    pthread_mutex_unlock(&sandbox->lock);
    if (!folder)
        return http_no_memory(call);
    const struct remote_channel channel = {.context = &course,
                                           .run = run_script,
                                           .put = put,
                                           .hold_ms = hold_ms < SHORTEST_HOLD_MS ? SHORTEST_HOLD_MS : hold_ms,
                                           .streams = true,
                                           .working_dir = folder};

    return remote_command_run(call, &channel, command, output, result);
}

/* ---- scripts of our own ------------------------------------------------------------------------------------------ */

enum sandlot_status command_run_with(struct sandlot_call *call, struct sandbox *sandbox, const char *script,
                                     const char *const *words, char *text, size_t capacity)
{
    struct text_sink kept;
    struct sending sending = {.output = &kept.sink};
    struct course course = {.sandbox = sandbox};
    const struct order order = {.script = script, .words = words, .longest_ms = HOLD_MS};

    text_sink_init(&kept, text, capacity);
    enum sandlot_status status = carry_out(call, &course, &order, &sending);

    return status == SANDLOT_OK && !sending.ended ? cut_off(call) : status;
}

void command_clean_up(struct sandlot_call *call, void *sandbox, const char *script)
{
    struct course course = {.sandbox = sandbox};
    const struct remote_channel channel = {.context = &course, .run = run_script};

    remote_clean_up(call, &channel, script);
}

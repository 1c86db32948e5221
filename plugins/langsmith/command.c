/*
 * The service offers two ways to run a command. A WebSocket per command passes output on as it comes; a plain POST
 * answers at the end, and the service's gateway cuts it after five minutes. Both turn output into text and tell
 * standard output from error, so what runs there is not the command itself but remote_command's script.
 *
 * A WebSocket that breaks is not reconnected: the script is sent again, which carries on where the output stopped.
 */
#include "operations.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/pause.h>
#include <sandlot/sdk/remote_command.h>
#include <sandlot/sdk/websocket.h>

#include <string.h>

enum {
    SECOND = 1000,
    HOLD_MS = 60 * SECOND,        /* of one script over a WebSocket: a connection that died unseen is noticed then */
    HOLD_PLAIN_MS = 120 * SECOND, /* over a POST */
    GRACE_MS = 15 * SECOND,       /* for the end of a script to arrive */
    OPEN_MS = 30 * SECOND,        /* for one handshake */
    STATE_MS = 3 * SECOND,        /* to say whether it is waking */
    REFUSED_MS = 25 * SECOND,     /* for a service that has no time */
    QUOTA_MS = 4 * SECOND,        /* for one that says that there were too many requests */
    WAKE_MS = 120 * SECOND,       /* for a sandbox that is waking */
    FIRST_PAUSE_MS = SECOND / 4,  /* between two handshakes */
    LONGEST_PAUSE_MS = 4 * SECOND,
    LONGEST_WISH_MS = 60 * SECOND, /* that a service may wish to be left alone */
    URGENT_MS = 900,               /* for what ends a command after a cancellation */
    KILL_MS = 100,
    GOODBYE_MS = 1, /* it is sent; its answer is not worth a round trip */
    KEPT_S = 60     /* the service keeps a script that has ended for so long */
};

#define SHELL "/bin/sh"

/* One command under way: a script after the other. */
struct course {
    struct sandbox *sandbox;
    bool connected; /* there has been a connection */
};

/* One script under way. */
struct sending {
    struct course *course;
    const struct remote_script *script;
    const struct sandlot_sink *output;
    enum sandlot_status sink_status;
    uint64_t taken; /* bytes of its output that have come */
    bool ended;
    char *reason; /* why it is to be asked again */
    size_t capacity;
};

static enum sandlot_status ask_again(const struct sending *sending, const char *reason)
{
    snprintf(sending->reason, sending->capacity, "%s", reason);
    return SANDLOT_UNAVAILABLE;
}

/* What became of an attempt within the call: what can be mended by asking again is no failure of the call. */
static enum sandlot_status after(const struct attempt *attempt, const struct sending *sending,
                                 enum sandlot_status status)
{
    const struct sandlot_call *outer = attempt->outer;
    bool late = outer->deadline_ms != 0 && sandlot_now_ms() >= outer->deadline_ms;

    if (status == SANDLOT_OK || sending->sink_status != SANDLOT_OK)
        return sending->sink_status;
    if (status == SANDLOT_UNAVAILABLE || status == SANDLOT_INTERNAL || status == SANDLOT_EXHAUSTED ||
        (status == SANDLOT_TIMEOUT && !late))
        return ask_again(sending, attempt->reason);
    if (status == SANDLOT_CANCELLED)
        return sandlot_fail(attempt->outer, status, "the command was cancelled; run it again if that was not meant");
    return attempt_fail(attempt, status);
}

static enum sandlot_status pass_on(struct sending *sending, const char *bytes, size_t length)
{
    if (length > 0)
        sending->sink_status = sending->output->write(sending->output, bytes, length);
    sending->taken += length;
    return sending->sink_status;
}

/* ---- messages --------------------------------------------------------------------------------------------------- */

static char *execute_message(const struct sending *sending)
{
    struct json_builder message = {0};
    int64_t longest_s = (sending->script->longest_ms + SECOND - 1) / SECOND;

    json_set_string(&message, "type", "execute");
    json_set_string(&message, "command", sending->script->text);
    json_set_integer(&message, "timeout_seconds", longest_s + GRACE_MS / SECOND);
    json_set_string(&message, "shell", SHELL);
    json_set_integer(&message, "idle_timeout_seconds", longest_s + GRACE_MS / SECOND);
    json_set_boolean(&message, "kill_on_disconnect", false);
    json_set_integer(&message, "ttl_seconds", KEPT_S);
    json_set_string(&message, "command_id", sending->script->id);
    json_set_boolean(&message, "close_stdin", true);
    return json_finish(&message, NULL);
}

/* One piece of output. Where the service counts its bytes, none may be missing. */
static enum sandlot_status take_output(struct sandlot_call *call, struct sending *sending, struct json_object *message)
{
    struct json_object *data = json_object_object_get(message, "data");
    int64_t offset = (int64_t)sending->taken;

    if (!json_object_is_type(data, json_type_string))
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "LangSmith sent output of a command without data");
    json_find_integer(message, "offset", &offset, NULL);
    const char *bytes = json_object_get_string(data);
    uint64_t length = (uint64_t)json_object_get_string_len(data);
    uint64_t begin = offset < 0 ? 0 : (uint64_t)offset;

    if (begin > sending->taken)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "LangSmith left out %llu bytes of a command's output",
                            (unsigned long long)(begin - sending->taken));
    uint64_t known = sending->taken - begin;

    return known >= length ? SANDLOT_OK : pass_on(sending, bytes + known, length - known);
}

static enum sandlot_status take_error(struct sandlot_call *call, struct sending *sending, struct json_object *message)
{
    const char *type = "CommandError";
    const char *text = "it does not say why";

    json_find_string(message, "error_type", &type, NULL);
    json_find_string(message, "error", &text, NULL);
    sending->ended = strcmp(type, "CommandTimeout") == 0;
    return sending->ended
               ? SANDLOT_OK
               : sandlot_fail(call, SANDLOT_UNAVAILABLE, "LangSmith could not run a command (%s): %s", type, text);
}

static enum sandlot_status take_message(struct sandlot_call *call, struct sending *sending,
                                        const struct websocket_message *received)
{
    struct json_error error;
    struct json_object *message = json_read_document(received->bytes, received->length, &error);
    const char *type = NULL;
    enum sandlot_status status = SANDLOT_OK;

    if (!message || !json_read_string(message, "type", &type, &error))
        status = json_fail(call, "a message of LangSmith about a command", &error);
    else if (strcmp(type, "stdout") == 0)
        status = take_output(call, sending, message);
    else if (strcmp(type, "error") == 0)
        status = take_error(call, sending, message);
    else
        sending->ended = strcmp(type, "exit") == 0; /* there may be others, which are to be ignored */
    json_object_put(message);
    return status;
}

/* ---- over a WebSocket ------------------------------------------------------------------------------------------- */

/* *WISH_MS: how long a service that refuses wishes to be left alone; -1: it does not say. */
static enum sandlot_status open_socket(struct sandlot_call *call, struct sandbox *sandbox, struct websocket **socket,
                                       int64_t *wish_ms)
{
    AUTO_RESPONSE struct http_response answer = {0};
    enum sandlot_status status = sandbox_open_socket(call, sandbox, "/execute/ws", &answer, socket);

    *wish_ms = answer.status != 0 && answer.retry_ms <= LONGEST_WISH_MS ? answer.retry_ms : -1;
    return status;
}

static bool is_waking(struct sandlot_call *call, const struct course *course)
{
    struct attempt attempt;
    char state[STATE_SIZE];

    attempt_begin(&attempt, call, STATE_MS);
    return sandbox_state(&attempt.call, course->sandbox->api, course->sandbox->name, state) == SANDLOT_OK &&
           (strcmp(state, "provisioning") == 0 || strcmp(state, "stopped") == 0);
}

/* How long a service that answers with STATUS is asked again, in all. */
static int64_t patience_ms(struct sandlot_call *call, const struct course *course, enum sandlot_status status,
                           int64_t so_far_ms)
{
    if (status == SANDLOT_EXHAUSTED)
        return QUOTA_MS;
    if (status != SANDLOT_UNAVAILABLE && status != SANDLOT_TIMEOUT)
        return 0;
    if (so_far_ms < REFUSED_MS)
        return REFUSED_MS;
    /* A sandbox that is waking is worth more patience than a gateway that is overloaded. */
    return is_waking(call, course) ? WAKE_MS : 0;
}

/*
 * Shakes hands, again and again while the sandbox wakes: nothing has been asked of it yet. Later on, who asks again for
 * a command under way does the waiting. ATTEMPT has the last reason.
 */
static enum sandlot_status connect_to(struct sandlot_call *call, struct course *course, struct attempt *attempt,
                                      struct websocket **socket)
{
    int64_t begun_ms = sandlot_now_ms();
    bool waited = false; /* for a sandbox that is waking, beyond the time of a script */

    for (int pause_ms = FIRST_PAUSE_MS;; pause_ms = pause_ms * 2 < LONGEST_PAUSE_MS ? pause_ms * 2 : LONGEST_PAUSE_MS) {
        attempt_begin(attempt, call, OPEN_MS);
        int64_t wish_ms;
        enum sandlot_status status = open_socket(&attempt->call, course->sandbox, socket, &wish_ms);
        bool wishes = wish_ms >= FIRST_PAUSE_MS;
        int64_t next_ms = wishes ? wish_ms : pause_ms;
        int64_t so_far_ms = sandlot_now_ms() - begun_ms + next_ms;

        if (status == SANDLOT_OK) {
            course->connected = true;
            sandbox_seen_awake(course->sandbox);
            if (waited)
                remote_wait_end(call);
            return SANDLOT_OK;
        }
        if (!waited && !course->connected && (status == SANDLOT_UNAVAILABLE || status == SANDLOT_TIMEOUT) &&
            sandlot_remaining_ms(call, SECOND) <= next_ms) {
            int64_t deadline_ms = call->deadline_ms;

            remote_wait_begin(call);
            waited = is_waking(call, course);
            if (!waited) {
                call->deadline_ms = deadline_ms;
                return status;
            }
        }
        int64_t patient_ms = patience_ms(call, course, status, so_far_ms);

        if (wishes && patient_ms > 0)
            patient_ms = WAKE_MS;
        if (course->connected || so_far_ms >= patient_ms || !pause_for(call, next_ms))
            return status;
    }
}

/* The script that passes output on is of no use to anybody any more. The command itself is ended by another one. */
static void kill_script(struct sandlot_call *call, struct websocket *socket)
{
    static const char kill_message[] = "{\"type\":\"kill\"}";
    struct attempt attempt;

    attempt_begin_urgent(&attempt, call, KILL_MS);
    websocket_send(&attempt.call, socket, WEBSOCKET_TEXT, kill_message, sizeof(kill_message) - 1);
}

static void say_goodbye(struct sandlot_call *call, struct websocket *socket)
{
    struct attempt attempt;

    attempt_begin(&attempt, call, GOODBYE_MS);
    websocket_close(&attempt.call, socket, 1000, "");
}

static enum sandlot_status talk(struct sandlot_call *call, struct websocket *socket, struct sending *sending)
{
    AUTO_FREE char *hello = execute_message(sending);
    enum sandlot_status status = hello
                                     ? websocket_send(call, socket, WEBSOCKET_TEXT, hello, strlen(hello))
                                     : sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for a command");

    while (status == SANDLOT_OK && !sending->ended) {
        struct websocket_message message;

        status = websocket_receive(call, socket, -1, &message);
        if (status == SANDLOT_OK && message.kind == WEBSOCKET_CLOSED)
            status = sandlot_fail(call, SANDLOT_UNAVAILABLE,
                                  "LangSmith closed the connection (%d) before the command had ended; try again",
                                  message.code);
        else if (status == SANDLOT_OK && message.kind == WEBSOCKET_TEXT)
            status = take_message(call, sending, &message);
    }
    return status;
}

/* *REFUSED: the service has no such way, or says so as long as something else is wrong. */
static enum sandlot_status run_over_socket(struct sandlot_call *call, struct sending *sending, bool *refused)
{
    struct attempt attempt;
    struct websocket *socket;
    enum sandlot_status status = connect_to(call, sending->course, &attempt, &socket);

    *refused = status == SANDLOT_NOT_FOUND || status == SANDLOT_INVALID_ARGUMENT || status == SANDLOT_UNSUPPORTED;
    if (*refused)
        return status;
    /* Before there was any connection all patience has been had, and nothing runs: that is not to be asked again. */
    if (status != SANDLOT_OK && !sending->course->connected)
        return attempt_fail(&attempt, status == SANDLOT_UNAVAILABLE ? SANDLOT_TIMEOUT : status);
    if (status != SANDLOT_OK)
        return after(&attempt, sending, status);
    attempt_begin(&attempt, call, sending->script->longest_ms + GRACE_MS);
    status = talk(&attempt.call, socket, sending);
    /* Otherwise the script is left alone: it may be about to start the command. */
    if (status == SANDLOT_CANCELLED)
        kill_script(call, socket);
    if (status == SANDLOT_OK)
        say_goodbye(call, socket);
    else
        websocket_free(socket);
    return after(&attempt, sending, status);
}

/* ---- over a POST ------------------------------------------------------------------------------------------------ */

static enum sandlot_status take_answer(struct sandlot_call *call, struct sending *sending,
                                       const struct api_answer *answer)
{
    struct json_object *output = answer->document ? json_object_object_get(answer->document, "stdout") : NULL;

    if (answer->status >= 300)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "LangSmith could not run a command (%d): %s", answer->status,
                            answer->message[0] ? answer->message : "it does not say why");
    if (!json_object_is_type(output, json_type_string))
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "LangSmith's answer to a command has no output");
    return pass_on(sending, json_object_get_string(output), (size_t)json_object_get_string_len(output));
}

static enum sandlot_status post(struct sandlot_call *call, struct sending *sending, int *answered)
{
    static const int expected[] = {400, 404, 408, 409, 500, 0};
    struct sandbox *sandbox = sending->course->sandbox;
    AUTO_ANSWER struct api_answer answer = {0};
    struct json_builder body = {0};
    const int64_t limit_ms = sending->script->longest_ms + GRACE_MS;
    const struct api_request request = {.method = "POST",
                                        .target = sandbox_target(sandbox, "/execute", NULL),
                                        .body = &body,
                                        .expected = expected,
                                        .silence_ms = limit_ms};

    json_set_string(&body, "command", sending->script->text);
    json_set_integer(&body, "timeout", limit_ms / SECOND);
    json_set_integer(&body, "timeout_seconds", limit_ms / SECOND); /* what the published schema calls it */
    json_set_string(&body, "shell", SHELL);
    enum sandlot_status status = api_send(call, sandbox->api, &request, &answer);

    *answered = answer.status;
    return status == SANDLOT_OK ? take_answer(call, sending, &answer) : status;
}

static enum sandlot_status run_over_post(struct sandlot_call *call, struct sending *sending)
{
    struct attempt attempt;
    int answered;

    if (sending->script->urgent)
        attempt_begin_urgent(&attempt, call, URGENT_MS);
    else
        attempt_begin(&attempt, call, sending->script->longest_ms + GRACE_MS);
    enum sandlot_status status = post(&attempt.call, sending, &answered);

    if (answered == 404 && !sending->script->urgent) {
        enum sandlot_status there = sandbox_must_exist(call, sending->course->sandbox);

        if (there == SANDLOT_OK)
            return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                                "LangSmith has the sandbox '%s', but no way to run commands in it; ask the operator of "
                                "this deployment",
                                sending->course->sandbox->name);
        return there;
    }
    return after(&attempt, sending, status);
}

/* ---- the channel ------------------------------------------------------------------------------------------------ */

static enum sandlot_status run(struct sandlot_call *call, void *context, const struct remote_script *script,
                               const struct sandlot_sink *output, char *reason, size_t capacity)
{
    struct course *course = context;
    struct sending sending = {
        .course = course, .script = script, .output = output, .reason = reason, .capacity = capacity};
    bool refused = false;

    /* After a cancellation there is no time for a handshake, but a connection of earlier requests. */
    if (script->urgent || course->sandbox->no_websocket)
        return run_over_post(call, &sending);
    enum sandlot_status status = run_over_socket(call, &sending, &refused);

    if (!refused)
        return status;
    status = run_over_post(call, &sending);
    if (status == SANDLOT_OK)
        course->sandbox->no_websocket = true;
    return status;
}

static enum sandlot_status put(struct sandlot_call *call, void *context, const char *path,
                               const struct sandlot_source *source, uint64_t length)
{
    const struct course *course = context;

    return files_put(call, course->sandbox, path, source, length);
}

enum sandlot_status command_execute(struct sandlot_call *call, void *provider, void *handle,
                                    const struct sandlot_command *command, const struct sandlot_sink *output,
                                    struct sandlot_exit *result)
{
    const struct sandbox *sandbox = handle;
    struct course course = {.sandbox = handle};
    const struct remote_channel channel = {.context = &course,
                                           .run = run,
                                           .put = put,
                                           .hold_ms = sandbox->no_websocket ? HOLD_PLAIN_MS : HOLD_MS,
                                           .streams = !sandbox->no_websocket,
                                           .working_dir = WORKING_DIR};

    (void)provider;
    return remote_command_run(call, &channel, command, output, result);
}

void command_clean_up(struct sandlot_call *call, struct sandbox *sandbox, const char *script)
{
    struct course course = {.sandbox = sandbox};
    const struct remote_channel channel = {.context = &course, .run = run};

    remote_clean_up(call, &channel, script);
}

/*
 * process.Process/Start of the daemon, a stream of Connect: the number of the process, what it writes, how it ended.
 *
 * Whoever stops listening leaves the process alone, and what it writes then is lost; a time limit kills the first
 * process only. So what is started is a script of remote_command.h.
 */
#include "command.h"

#include "files.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/base64.h>
#include <sandlot/sdk/connect.h>
#include <sandlot/sdk/remote_command.h>
#include <sandlot/sdk/text_sink.h>

#include <string.h>

enum {
    HOLD_MS = 200 * 1000,
    SHORTEST_HOLD_MS = 1000,
    GRACE_MS = 10 * 1000,  /* for the daemon's own time limit of a script, which kills */
    ANSWER_MS = 20 * 1000, /* for the answer after the script's end */
    URGENT_MS = 900,
    LONGEST_MESSAGE = 4 << 20
};

/* A script, and what is done with it. */
struct order {
    const char *script;
    const char *const *words; /* NULL: none */
    int64_t longest_ms;
    bool urgent;
    bool of_command; /* a script of remote_command's */
};

/* One process of the daemon's. */
struct sending {
    const struct sandlot_sink *output;
    bool ended; /* the daemon has told how */
};

/* ---- answers ----------------------------------------------------------------------------------------------------- */

enum sandlot_status command_take_bytes(const struct sandlot_sink *output, struct json_object *text)
{
    if (!json_object_is_type(text, json_type_string))
        return SANDLOT_OK;
    size_t length = (size_t)json_object_get_string_len(text);
    AUTO_FREE char *bytes = malloc(length + 1);
    size_t size = bytes ? base64_read(bytes, json_object_get_string(text), length) : SIZE_MAX;

    if (size == SIZE_MAX)
        return SANDLOT_UNAVAILABLE; /* what is missing now is asked for again */
    return size > 0 ? output->write(output, bytes, size) : SANDLOT_OK;
}

static enum sandlot_status take_event(void *context, struct json_object *message)
{
    struct sending *sending = context;
    struct json_object *event = json_object_object_get(message, "event");
    struct json_object *data = NULL;

    if (!json_object_is_type(event, json_type_object))
        return SANDLOT_OK;
    if (json_object_is_type(json_object_object_get(event, "end"), json_type_object))
        sending->ended = true;
    data = json_object_object_get(event, "data");
    if (!json_object_is_type(data, json_type_object))
        return SANDLOT_OK;
    return command_take_bytes(sending->output, json_object_object_get(data, "stdout"));
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static char *make_message(const struct order *order, size_t *length)
{
    struct json_builder body = {0};

    json_set_string(&body, "process.cmd", "/bin/sh");
    json_set_string(&body, "process.args[]", "-c");
    json_set_string(&body, "process.args[]", order->script);
    if (order->words)
        json_set_string(&body, "process.args[]", "sh");
    for (const char *const *word = order->words; word && *word; word++)
        json_set_string(&body, "process.args[]", *word);
    json_set_string(&body, "process.cwd", "/"); /* the usual one may have been deleted */
    json_set_boolean(&body, "stdin", false);
    return json_finish(&body, length);
}

void command_ask_for_life(struct sandbox_way *way)
{
    size_t used = 0;

    while (way->headers[used])
        used++;
    way->headers[used] = "Keepalive-Ping-Interval: 30";
}

static enum sandlot_status send_once(struct sandlot_call *call, struct sandbox *sandbox, const struct order *order,
                                     struct sending *sending, struct connect_answer *answer)
{
    size_t length = 0;
    AUTO_WAY struct sandbox_way way;
    AUTO_FREE char *message = make_message(order, &length);

    sandbox_find_way(call, sandbox, "/process.Process/Start", order->urgent, &way);
    command_ask_for_life(&way);
    if (!message || !way.target)
        return http_no_memory(call);
    const struct connect_request request = {.target = way.target,
                                            .message = message,
                                            .length = length,
                                            .headers = way.headers,
                                            .repeatable = true,
                                            .limit = LONGEST_MESSAGE,
                                            .limit_ms = order->longest_ms + GRACE_MS,
                                            .timeout_ms = order->urgent ? URGENT_MS : order->longest_ms + ANSWER_MS,
                                            .silence_ms = COMMAND_SILENCE_MS,
                                            .after_cancel = order->urgent,
                                            .on_message = take_event,
                                            .context = sending};

    return connect_send(call, sandbox->e2b->daemons, &request, answer);
}

/* Runs ORDER. One that did not get to the daemon because the sandbox sleeps is given to it when it is awake. */
static enum sandlot_status carry_out(struct sandlot_call *call, struct sandbox *sandbox, const struct order *order,
                                     struct sending *sending)
{
    for (bool woken = false;; woken = true) {
        struct connect_answer answer = {0};
        struct attempt attempt;

        attempt_begin(&attempt, call, 0);
        enum sandlot_status status = send_once(&attempt.call, sandbox, order, sending, &answer);
        bool asleep = status != SANDLOT_OK && sandbox_may_sleep(answer.status);
        bool late = answer.code == GRPC_DEADLINE_EXCEEDED && answer.status == 200; /* the daemon's own time limit */

        connect_answer_clear(&answer);
        if (status == SANDLOT_OK)
            return status;
        if (!asleep || woken || order->urgent)
            return attempt_fail(&attempt, late ? SANDLOT_UNAVAILABLE : status);
        if (order->of_command)
            remote_wait_begin(call);
        status = sandbox_wake(call, sandbox);
        if (order->of_command)
            remote_wait_end(call);
        if (status != SANDLOT_OK)
            return status;
    }
}

/* ---- the channel ------------------------------------------------------------------------------------------------- */

static enum sandlot_status run_script(struct sandlot_call *call, void *context, const struct remote_script *script,
                                      const struct sandlot_sink *output, char *reason, size_t capacity)
{
    struct sending sending = {.output = output};
    const struct order order = {
        .script = script->text, .longest_ms = script->longest_ms, .urgent = script->urgent, .of_command = true};

    (void)reason, (void)capacity;
    return carry_out(call, context, &order, &sending);
}

enum sandlot_status command_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                    const struct sandlot_command *command, const struct sandlot_sink *output,
                                    struct sandlot_exit *result)
{
    int64_t hold_ms = sandbox_lasts_ms(sandbox) / 2; /* so that its time is not up in the middle of a script */

    (void)provider;
    hold_ms = hold_ms < SHORTEST_HOLD_MS ? SHORTEST_HOLD_MS : hold_ms < HOLD_MS ? hold_ms : HOLD_MS;
    const struct remote_channel channel = {.context = sandbox,
                                           .run = run_script,
                                           .put = upload_new_file,
                                           .hold_ms = hold_ms,
                                           .streams = true,
                                           .working_dir = WORKING_DIR};

    return remote_command_run(call, &channel, command, output, result);
}

/* ---- scripts of our own ------------------------------------------------------------------------------------------ */

enum sandlot_status command_run_with(struct sandlot_call *call, struct sandbox *sandbox, const char *script,
                                     const char *const *words, char *text, size_t capacity)
{
    struct text_sink kept;
    struct sending sending = {.output = &kept.sink};
    const struct order order = {.script = script, .words = words, .longest_ms = HOLD_MS};

    text_sink_init(&kept, text, capacity);
    enum sandlot_status status = carry_out(call, sandbox, &order, &sending);

    return status == SANDLOT_OK && !sending.ended
               ? sandlot_fail(call, SANDLOT_UNAVAILABLE, "E2B's answer to a command was cut off; try again")
               : status;
}

void command_clean_up(struct sandlot_call *call, void *sandbox, const char *script)
{
    const struct remote_channel channel = {.context = sandbox, .run = run_script};

    remote_clean_up(call, &channel, script);
}

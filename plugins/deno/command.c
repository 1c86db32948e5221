#include "command.h"

#include "sandbox.h"
#include "upload.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/remote_command.h>

#include <string.h>

enum {
    HOLD_MS = 10 * 60 * 1000,
    GRACE_MS = 10 * 1000, /* for the answer after a script's end */
    GOODBYE_MS = 300,
    MOST_EARLY = 16 << 20 /* bytes of a stream that nobody has told of yet */
};

/* What came of a stream before the answer that tells whose it is. */
struct early {
    struct early *next;
    int64_t stream;
    bool end;
    bool failed;
    size_t length;
    char bytes[];
};

/* A script on its way. */
struct sending {
    struct line *line;
    const struct sandlot_sink *output;
    int64_t question;
    int64_t pid;
    int64_t stream; /* -1 until it is told */
    struct early *first;
    struct early **last;
    size_t early_bytes;
    bool ended;
};

/* ---- output ------------------------------------------------------------------------------------------------------ */

static enum sandlot_status take_piece(struct sandlot_call *call, struct sending *sending, const char *bytes,
                                      size_t length, bool end, bool failed)
{
    sending->ended = end;
    if (failed)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "Deno's sandbox broke a command's output off; try again");
    return end ? SANDLOT_OK : sending->output->write(sending->output, bytes, length);
}

static enum sandlot_status keep_piece(struct sandlot_call *call, struct sending *sending,
                                      const struct line_message *message)
{
    struct early *early =
        sending->early_bytes + message->length <= MOST_EARLY ? malloc(sizeof(*early) + message->length + 1) : NULL;

    if (!early)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE,
                            "Deno's sandbox sends output of a command that it has not told of; try again");
    early->next = NULL;
    early->stream = message->id;
    early->end = message->kind == LINE_END;
    early->failed = message->failed;
    early->length = message->length;
    if (message->length > 0)
        memcpy(early->bytes, message->bytes, message->length);
    sending->early_bytes += message->length;
    *sending->last = early;
    sending->last = &early->next;
    return SANDLOT_OK;
}

/* Now it is known whose the pieces are. */
static enum sandlot_status take_early(struct sandlot_call *call, struct sending *sending)
{
    enum sandlot_status status = SANDLOT_OK;

    for (const struct early *early = sending->first; early && status == SANDLOT_OK; early = early->next)
        if (early->stream == sending->stream)
            status = take_piece(call, sending, early->bytes, early->length, early->end, early->failed);
    return status;
}

static void forget_early(struct sending *sending)
{
    while (sending->first) {
        struct early *next = sending->first->next;

        free(sending->first);
        sending->first = next;
    }
}

/* ---- one script -------------------------------------------------------------------------------------------------- */

static enum sandlot_status take_begin(struct sandlot_call *call, struct sending *sending,
                                      const struct line_message *answer)
{
    struct json_error error;

    if (answer->failed && answer->fault.protocol == 0)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED, "Deno's sandbox cannot run /bin/sh: %s", answer->fault.text);
    if (answer->failed)
        return line_fail(call, &answer->fault, "run a command");
    if (!json_read_integer(answer->ok, "pid", &sending->pid, &error) ||
        !json_read_integer(answer->ok, "stdoutStreamId", &sending->stream, &error)) {
        sending->line->broken = true;
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "Deno's answer to a command %s; try again", error.text);
    }
    return take_early(call, sending);
}

static enum sandlot_status take_message(struct sandlot_call *call, struct sending *sending,
                                        const struct line_message *message)
{
    bool of_stream = message->kind == LINE_BYTES || message->kind == LINE_END;

    if (message->kind == LINE_ANSWER && message->id == sending->question)
        return take_begin(call, sending, message);
    if (of_stream && sending->stream < 0)
        return keep_piece(call, sending, message);
    if (of_stream && message->id == sending->stream)
        return take_piece(call, sending, message->bytes, message->length, message->kind == LINE_END, message->failed);
    return SANDLOT_OK; /* of a command that nobody waits for any more */
}

static enum sandlot_status talk(struct sandlot_call *call, struct sending *sending, const char *script)
{
    struct json_builder params = {0};

    json_set_string(&params, "command", "/bin/sh");
    json_set_string(&params, "args[]", "-c");
    json_set_string(&params, "args[]", script);
    json_set_string(&params, "cwd", "/"); /* the usual one may have been deleted */
    json_set_string(&params, "stdout", "piped");
    json_set_string(&params, "stderr", "null");
    enum sandlot_status status = line_ask(call, sending->line, "spawn", &params, &sending->question);

    while (status == SANDLOT_OK && !sending->ended) {
        struct line_message message;

        status = line_receive(call, sending->line, &message);
        if (status == SANDLOT_OK)
            status = take_message(call, sending, &message);
    }
    return status;
}

/* The script that passes output on is of no use to anybody any more; the command itself is ended by another one. So the
 * line can be used for that. */
static void say_goodbye(struct sandlot_call *call, const struct sending *sending)
{
    struct json_builder params = {0};
    struct attempt attempt;

    if (sending->line->broken || sending->stream < 0)
        return;
    attempt_begin_urgent(&attempt, call, GOODBYE_MS);
    line_tell(&attempt.call, sending->line, "cancel", sending->stream);
    json_set_integer(&params, "pid", sending->pid);
    json_set_string(&params, "signal", "SIGKILL");
    line_ask(&attempt.call, sending->line, "processKill", &params, NULL);
}

/* Runs SCRIPT, and passes on what it prints until it has ended or LIMIT_MS are over. */
static enum sandlot_status send_script(struct sandlot_call *call, struct sandbox *sandbox, const char *script,
                                       const struct sandlot_sink *output)
{
    struct sending sending = {.output = output, .stream = -1};
    enum sandlot_status status = sandbox_take(call, sandbox, &sending.line);

    if (status != SANDLOT_OK)
        return status;
    sending.last = &sending.first;
    status = talk(call, &sending, script);
    if (status == SANDLOT_CANCELLED)
        say_goodbye(call, &sending);
    else if (status != SANDLOT_OK)
        sending.line->broken = true; /* what else comes on it is nobody's */
    sandbox_give(call, sandbox, sending.line);
    forget_early(&sending);
    return status;
}

/* ---- the channel ------------------------------------------------------------------------------------------------- */

static enum sandlot_status run(struct sandlot_call *call, void *context, const struct remote_script *script,
                               const struct sandlot_sink *output, char *reason, size_t capacity)
{
    struct attempt attempt;

    attempt_begin(&attempt, call, script->longest_ms + GRACE_MS);
    enum sandlot_status status = send_script(&attempt.call, context, script->text, output);

    if (status == SANDLOT_OK)
        return status;
    snprintf(reason, capacity, "%s", attempt.reason);
    /* Whether it has run nobody knows, so it is asked again. */
    return status == SANDLOT_TIMEOUT && sandlot_remaining_ms(call, 1) > 0 ? SANDLOT_UNAVAILABLE : status;
}

REMOTE_COMMAND(command_execute, command_clean_up, .run = run, .put = upload_new_file, .hold_ms = HOLD_MS,
               .streams = true, .working_dir = WORKING_DIR)

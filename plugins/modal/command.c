/*
 * A command is a script of remote_command in a process of its own: two requests, one that starts it and one that
 * streams its output to the end. The router's own way to a command would take as many streams as there are outputs,
 * which loses the order between them, and a request more for the exit code; it cannot end a command early, nor tell its
 * own time limit from a lack of memory, and keeps its output open as long as a child does. The script mends all of
 * that.
 */
#include "operations.h"

#include "message.h"
#include "process.h"

#include <sandlot/sdk/remote_command.h>

#include <string.h>

enum {
    HOLD_MS = 50 * 1000,     /* connections without a word are cut after minutes */
    GRACE_S = 30,            /* for the worker's own limit: the script's comes first */
    LONGEST_WORD = 60 * 1000 /* of a command line; a longer script goes through standard input */
};

/* The id of the sending names the process: a start that is sent again starts nothing. */
static enum sandlot_status run_script(struct sandlot_call *call, void *context, const struct remote_script *script,
                                      const struct sandlot_sink *output, char *reason, size_t capacity)
{
    struct sandbox *sandbox = context;
    size_t length = strlen(script->text);
    bool fits = length <= LONGEST_WORD;
    const char *const words[] = {"sh", fits ? "-c" : NULL, script->text, NULL};
    int64_t timeout_s = (script->longest_ms + 999) / 1000 + GRACE_S;
    struct process process;

    (void)reason;
    (void)capacity;
    bool booting = !script->urgent && sandbox->made_here && !sandbox->proven;

    if (booting)
        remote_wait_begin(call);
    enum sandlot_status status = process_start(call, sandbox, words, script->id, timeout_s, !script->urgent, &process);

    if (booting)
        remote_wait_end(call);
    for (size_t at = 0; !fits && at < length && status == SANDLOT_OK; at += PROCESS_PIECE) {
        size_t piece = length - at < PROCESS_PIECE ? length - at : PROCESS_PIECE;

        status = process_write(call, &process, script->text + at, piece, at + piece == length);
    }
    return status == SANDLOT_OK && !script->urgent ? process_read(call, &process, output) : status;
}

enum sandlot_status command_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                    const struct sandlot_command *command, const struct sandlot_sink *output,
                                    struct sandlot_exit *result)
{
    const struct remote_channel channel = {.context = sandbox,
                                           .run = run_script,
                                           .put = upload_new_file,
                                           .hold_ms = HOLD_MS,
                                           .streams = true,
                                           .working_dir = sandbox_working_dir(provider)};

    return remote_command_run(call, &channel, command, output, result);
}

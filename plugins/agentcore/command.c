#include "command.h"

#include "invoke.h"
#include "nursery.h"
#include "upload.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/remote_command.h>

#include <string.h>

enum {
    HOLD_MS = 60 * 1000,
    ANSWER_BYTES = 3 << 20, /* of output; an answer has them twice, in base64 */
    SHORT_MS = 60 * 1000,
    URGENT_MS = 900,
    SEEN = 64 /* bytes at the beginning of an output, in which a missing nursery says so */
};

/* ---- one script -------------------------------------------------------------------------------------------------- */

/* Hands output on, and remembers how it began. */
struct observed {
    struct sandlot_sink sink;
    const struct sandlot_sink *output;
    char begin[SEEN + 1];
    size_t length;
};

static enum sandlot_status observe(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct observed *observed = sink->context;
    size_t room = SEEN - observed->length;
    size_t kept = length < room ? length : room;

    memcpy(observed->begin + observed->length, bytes, kept);
    observed->length += kept;
    return observed->output ? observed->output->write(observed->output, bytes, length) : SANDLOT_OK;
}

static void observe_init(struct observed *observed, const struct sandlot_sink *output)
{
    *observed = (struct observed){.sink = {.size = sizeof(observed->sink), .context = observed, .write = observe},
                                  .output = output};
}

/* Runs COMMAND, which it frees, as executeCommand. */
static enum sandlot_status execute(struct sandlot_call *call, struct sandbox *sandbox, char *command,
                                   int64_t longest_ms, bool urgent, struct observed *observed)
{
    AUTO_FREE char *text = command;
    size_t length = 0;
    AUTO_FREE char *body = text ? invoke_body("executeCommand", "command", text, &length) : NULL;
    const struct invocation invocation = {
        .body = body, .length = length, .longest_ms = longest_ms, .urgent = urgent, .output = &observed->sink};
    struct invoked invoked;

    if (!body)
        return http_no_memory(call);
    enum sandlot_status status = invoke(call, sandbox, &invocation, &invoked);

    if (invoked.crowded)
        return SANDLOT_UNAVAILABLE; /* the next one waits for its turn */
    if (status == SANDLOT_OK && !invoked.structured)
        return sandlot_fail(call, SANDLOT_INTERNAL, "AgentCore's session %.40s did not run a command (%s); try again",
                            sandbox->id, *invoked.said ? invoked.said : "it does not say why");
    return status;
}

static enum sandlot_status run_in_nursery(struct sandlot_call *call, struct sandbox *sandbox,
                                          const struct remote_script *script, const struct sandlot_sink *output)
{
    bool fresh = nursery_is_missing(sandbox);
    enum sandlot_status status = fresh ? nursery_open(call, sandbox) : SANDLOT_OK;

    for (int attempt = 1; status == SANDLOT_OK; attempt++) {
        struct observed observed;

        observe_init(&observed, output);
        status = execute(call, sandbox, nursery_command(script, fresh), script->longest_ms, false, &observed);
        if (status != SANDLOT_OK || !strstr(observed.begin, NURSERY_ABSENT)) {
            if (status == SANDLOT_OK && observed.length > 0)
                nursery_found(sandbox);
            return status;
        }
        nursery_forget(sandbox);
        if (attempt > 1)
            return sandlot_fail(call, SANDLOT_UNAVAILABLE,
                                "AgentCore's session %.40s did not start what runs commands in it; try again",
                                sandbox->id);
        status = nursery_open(call, sandbox);
        fresh = true;
    }
    return status;
}

static enum sandlot_status run_script(struct sandlot_call *call, void *context, const struct remote_script *script,
                                      const struct sandlot_sink *output, char *reason, size_t capacity)
{
    struct observed observed;

    (void)reason; /* what the call is told serves as well */
    (void)capacity;
    if (!script->urgent)
        return run_in_nursery(call, context, script, output);
    observe_init(&observed, output);
    return execute(call, context, nursery_direct_command(script->text), URGENT_MS, true, &observed);
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

REMOTE_COMMAND(command_execute, command_clean_up, .run = run_script, .put = upload_new_file, .hold_ms = HOLD_MS,
               .working_dir = WORKING_DIR, .answer_bytes = ANSWER_BYTES)

struct script_place command_place(void *sandbox)
{
    return (struct script_place){.sandbox = sandbox, .execute = command_execute, .folder = "."};
}

enum sandlot_status command_do(struct sandlot_call *call, struct sandbox *sandbox, const char *script, const char *done)
{
    enum { ATTEMPTS = 3 };
    struct observed observed;
    enum sandlot_status status = SANDLOT_UNAVAILABLE;

    for (int i = 0; i < ATTEMPTS && status == SANDLOT_UNAVAILABLE; i++) {
        observe_init(&observed, NULL);
        status = execute(call, sandbox, nursery_direct_command(script), SHORT_MS, false, &observed);
    }
    if (status != SANDLOT_OK || strstr(observed.begin, done))
        return status;
    return sandlot_fail(call, SANDLOT_INTERNAL,
                        "a file could not be put into its place in AgentCore's session %.40s; see whether its disk is "
                        "full",
                        sandbox->id);
}

/* The tool that runs commands. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "operations/output.h"
#include "operations/sandbox_path.h"
#include "tools/execute_reply.h"
#include "tools/refusals.h"
#include "tools/text.h"
#include "tools/work.h"

enum { MS_PER_S = 1000 };

/* Output on its way: to who wants to see it at once, and kept for the answer. */
struct kept {
    const struct sandlot_tool_call *call;
    struct output output;
    bool no_memory;
};

static bool keep(void *context, const void *bytes, size_t length)
{
    struct kept *kept = context;

    if (kept->call->output)
        kept->call->output(kept->call->context, bytes, length);
    kept->no_memory = !output_add(&kept->output, bytes, length);
    return !kept->no_memory;
}

static int64_t timeout_ms(const struct argument *timeout)
{
    if (!timeout->given)
        return SANDLOT_DEFAULT_TIMEOUT_MS;
    return timeout->number == 0 ? SANDLOT_NO_TIMEOUT : timeout->number * MS_PER_S;
}

static int run(const struct work *work, struct kept *kept, struct sandlot_result *result, struct sandlot_error *error)
{
    const struct argument *cwd = argument(work->arguments, "cwd");
    AUTO_FREE char *directory =
        cwd->given ? sandbox_path(cwd->text, sandlot_session_working_dir(work->session), false, error) : NULL;
    const struct sandlot_execution execution = {.size = sizeof(execution),
                                                .command = argument(work->arguments, "command")->text,
                                                .timeout_ms = timeout_ms(argument(work->arguments, "timeout")),
                                                .working_dir = directory,
                                                .output = keep,
                                                .context = kept,
                                                .cancellation = work->call->cancellation};
    struct sandlot_error why = {0};

    if (cwd->given && !directory)
        return -1;
    if (sandlot_execute(work->session, &execution, result, &why) == 0)
        return 0;
    if (kept->no_memory)
        error_no_memory(error);
    else
        error_set(error, why.code, "%s", why.message);
    sandlot_error_clear(&why);
    return -1;
}

/* How it ended; and where it failed, what the network refused it since BEGIN_MS. */
static char *status_of(const struct work *work, const struct sandlot_result *result, int64_t begin_ms)
{
    AUTO_FREE char *status = text_of_status(result);
    bool failed = !result->has_exit_code || result->exit_code != 0;
    AUTO_FREE char *refusals = failed ? refusals_since(work->session, begin_ms, false, work->call->cancellation) : NULL;

    if (!status || !refusals)
        return TAKE(status);
    return text_format("%s%s%s", status, *status ? "\n" : "", refusals);
}

int tool_execute(const struct work *work, struct reply *reply, struct sandlot_error *error)
{
    struct kept kept = {.call = work->call};
    struct sandlot_result result = {.size = sizeof(result)};
    struct printed printed = {0};

    if (!sandlot_session_can_execute(work->session))
        return error_set(error, SANDLOT_CODE_NOT_SUPPORTED,
                         "This sandbox only serves files: commands cannot be run in it.");
    if (argument(work->arguments, "background")->flag)
        return execute_in_background(work, reply, error);
    if (argument(work->arguments, "stdin")->flag)
        return error_set(error, SANDLOT_CODE_USAGE, "stdin goes with background only; then process can send input.");
    output_init(&kept.output, SANDLOT_DEFAULT_OUTPUT_LIMIT);
    int64_t begin_ms = refusals_clock();
    int failed = run(work, &kept, &result, error);

    if (!failed) {
        AUTO_FREE char *status = status_of(work, &result, begin_ms);

        printed_take(&kept.output, &printed);
        reply->ran = true;
        reply->has_exit_code = result.has_exit_code;
        reply->exit_code = result.exit_code;
        reply->timed_out = result.timed_out;
        reply->is_error = result.timed_out;
        failed = execute_reply(work, &printed, status, reply, error);
    }
    free(printed.text);
    output_clear(&kept.output);
    sandlot_result_clear(&result);
    return failed;
}

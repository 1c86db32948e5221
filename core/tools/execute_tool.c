/* The tool that runs commands. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "operations/output.h"
#include "operations/sandbox_path.h"
#include "tools/refusals.h"
#include "tools/saved_output.h"
#include "tools/text.h"
#include "tools/work.h"

#include <inttypes.h>
#include <string.h>

enum { MS_PER_S = 1000, NOTE_ROOM = 1200, LONGEST_REASON = 300 };

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

/* What a command printed, ready to be shown. */
struct printed {
    char *text;
    size_t length;
    bool incomplete; /* more came than is kept at all */
    uint64_t total;  /* bytes that came */
};

static char *note_of_incomplete(const struct printed *printed)
{
    return printed->incomplete ? text_format("the command printed %" PRIu64
                                             " bytes, of which only the first and the last %" PRIu64 " were kept",
                                             printed->total, SANDLOT_DEFAULT_OUTPUT_LIMIT / 2)
                               : strdup("");
}

/* What is not shown, and where it is: PATH, or nowhere, for the reason WHY. */
static char *note_of_gap(const struct printed *printed, const struct text_gap *gap, const char *path,
                         const struct sandlot_error *why)
{
    AUTO_FREE char *incomplete = note_of_incomplete(printed);
    AUTO_FREE char *left_out =
        gap->whole_lines ? text_format("%" PRIu64 " line%s", gap->lines_left_out, gap->lines_left_out == 1 ? "" : "s")
                         : text_format("%zu bytes", gap->bytes_left_out);

    if (!incomplete || !left_out)
        return NULL;
    if (!path)
        return text_format("[Output cut: %s left out after line %" PRIu64 "%s%s. Nothing was saved: %.*s. Run the "
                           "command again with its output redirected to a file.]",
                           left_out, gap->lines_before, *incomplete ? "; " : "", incomplete, LONGEST_REASON,
                           why->message);
    if (printed->incomplete)
        return text_format("[Output cut: %s left out after line %" PRIu64 "; the saved file %s is incomplete too: %s. "
                           "Page through it with read_file offset and limit, or grep it.]",
                           left_out, gap->lines_before, path, incomplete);
    return text_format("[Output cut: %s left out after line %" PRIu64 "; all of it is in %s, page through it with "
                       "read_file offset and limit, or grep it.]",
                       left_out, gap->lines_before, path);
}

/* The output does not fit: its ends, and where the rest is. */
static int reply_in_part(const struct work *work, const struct printed *printed, const struct text_gap *gap,
                         const char *status, struct reply *reply, struct sandlot_error *error)
{
    struct sandlot_error why = {0};
    AUTO_FREE char *path = saved_output(work->session, printed->text, printed->length, work->call->cancellation, &why);

    if (why.code == SANDLOT_CODE_CANCELLED) {
        sandlot_error_clear(&why);
        return error_set(error, SANDLOT_CODE_CANCELLED, "the call was cancelled while its output was saved");
    }
    AUTO_FREE char *note = note_of_gap(printed, gap, path, &why);
    /* The reason may be cut within a character. */
    AUTO_FREE char *valid = note ? text_utf8_replace(note, strlen(note), NULL) : NULL;
    size_t length = 0;
    char *text = valid ? text_of_result(printed->text, printed->length, gap, valid, status, &length) : NULL;

    sandlot_error_clear(&why);
    reply->truncated = true;
    return reply_set(reply, text, length, error);
}

/* How it ended; and where it failed, what the network refused it since BEGIN_MS. */
static char *status_of(const struct work *work, const struct sandlot_result *result, int64_t begin_ms)
{
    AUTO_FREE char *status = text_of_status(result);
    bool failed = !result->has_exit_code || result->exit_code != 0;
    AUTO_FREE char *refusals = failed ? refusals_since(work->session, begin_ms, work->call->cancellation) : NULL;

    if (!status || !refusals)
        return TAKE(status);
    return text_format("%s%s%s", status, *status ? "\n" : "", refusals);
}

static int reply_with(const struct work *work, const struct printed *printed, const struct sandlot_result *result,
                      int64_t begin_ms, struct reply *reply, struct sandlot_error *error)
{
    AUTO_FREE char *status = status_of(work, result, begin_ms);
    struct text_gap gap;

    if (!printed->text || !status)
        return error_no_memory(error);
    size_t room = work->maximum - strlen(status) - 2;

    if (printed->length > room && text_gap_find(printed->text, printed->length, room - NOTE_ROOM, &gap))
        return reply_in_part(work, printed, &gap, status, reply, error);
    AUTO_FREE char *incomplete = note_of_incomplete(printed);
    AUTO_FREE char *note = incomplete && *incomplete ? text_format("[Output incomplete: %s.]", incomplete) : NULL;
    size_t length = 0;
    char *text = text_of_result(printed->text, printed->length, NULL, note, status, &length);

    reply->truncated = printed->incomplete;
    return reply_set(reply, text, length, error);
}

static void read_output(struct output *output, struct printed *printed)
{
    size_t length = 0;

    printed->total = output->total;
    AUTO_FREE char *raw = output_take(output, &length, &printed->incomplete);

    printed->text = raw ? text_of_output(raw, length, &printed->length) : NULL;
}

int tool_execute(const struct work *work, struct reply *reply, struct sandlot_error *error)
{
    struct kept kept = {.call = work->call};
    struct sandlot_result result = {.size = sizeof(result)};
    struct printed printed = {0};

    if (!sandlot_session_can_execute(work->session))
        return error_set(error, SANDLOT_CODE_NOT_SUPPORTED,
                         "This sandbox only serves files: commands cannot be run in it.");
    output_init(&kept.output, SANDLOT_DEFAULT_OUTPUT_LIMIT);
    int64_t begin_ms = refusals_clock();
    int failed = run(work, &kept, &result, error);

    if (!failed) {
        read_output(&kept.output, &printed);
        reply->ran = true;
        reply->has_exit_code = result.has_exit_code;
        reply->exit_code = result.exit_code;
        reply->timed_out = result.timed_out;
        reply->is_error = result.timed_out;
        failed = reply_with(work, &printed, &result, begin_ms, reply, error);
    }
    free(printed.text);
    output_clear(&kept.output);
    sandlot_result_clear(&result);
    return failed;
}

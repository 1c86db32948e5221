/* The tool that looks at background processes, and what `execute` does with `background`. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "operations/output.h"
#include "operations/sandbox_path.h"
#include "session/process_cursor.h"
#include "tools/buffer.h"
#include "tools/execute_reply.h"
#include "tools/work.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MS_PER_S = 1000, EARLY_MS = 1000, DEFAULT_WAIT_S = 5, SHOWN_COMMAND = 200 };

/* Output on its way, from the byte on that is wanted. */
struct news {
    const struct sandlot_tool_call *call;
    struct output output;
    uint64_t next;
    uint64_t skipped; /* bytes that were no longer kept */
    bool no_memory;
};

static bool keep(void *context, uint64_t offset, const void *bytes, size_t length)
{
    struct news *news = context;

    news->skipped += offset > news->next ? offset - news->next : 0;
    news->next = offset + length;
    if (news->call->output)
        news->call->output(news->call->context, bytes, length);
    news->no_memory = !output_add(&news->output, bytes, length);
    return !news->no_memory;
}

/* How many of the last bytes that came begin a character of UTF-8 whose rest has not come. */
static size_t begun_character(const struct output *output)
{
    for (size_t back = 1; back <= 3 && back <= output->total && output->total <= output->limit; back++) {
        const unsigned char byte = (unsigned char)output->bytes[output->total - back];

        if ((byte & 0xc0) != 0x80)
            return byte >= (back == 1 ? 0xc0 : back == 2 ? 0xe0 : 0xf0) && byte < 0xf8 ? back : 0;
    }
    return 0;
}

/* One look for what is new from news->next on. 0 or -1. */
static int look_once(const struct work *work, const struct sandlot_follow *request, struct news *news,
                     struct sandlot_process *process, struct sandlot_error *error)
{
    uint64_t next = 0;

    sandlot_process_clear(process);
    if (sandlot_follow_process(work->session, request, &next, process, error) < 0)
        return -1;
    news->skipped += next > news->next ? next - news->next : 0;
    news->next = next;
    return news->no_memory ? error_no_memory(error) : 0;
}

/* What is new of process ID from byte FROM on. A character that has come in part comes whole, the next time, unless the
 * process ends with it. 0 or -1. */
static int look(const struct work *work, const char *id, int64_t from, int64_t wait_ms, bool first_news,
                struct news *news, struct sandlot_process *process, struct sandlot_error *error)
{
    const int64_t until_ms = sandlot_now_ms() + wait_ms;
    struct sandlot_follow request = {.size = sizeof(request),
                                     .id = id,
                                     .from = from,
                                     .wait_ms = wait_ms,
                                     .first_news = first_news,
                                     .output = keep,
                                     .context = news,
                                     .cancellation = work->call->cancellation};
    size_t begun;

    news->next = from < 0 ? UINT64_MAX : (uint64_t)from; /* from the end: nothing is missing before it */
    do {
        if (look_once(work, &request, news, process, error) < 0)
            return -1;
        begun = process->state == SANDLOT_PROCESS_RUNNING ? begun_character(&news->output) : 0;
        request.from = (int64_t)news->next;
        request.wait_ms = until_ms - sandlot_now_ms();
    } while (begun > 0 && begun == news->output.total && request.wait_ms > 0);
    news->output.total -= begun;
    news->next -= begun;
    return 0;
}

static char *age_of(const struct sandlot_process *process)
{
    const int64_t now_s = (int64_t)time(NULL);
    const int64_t started_s = process->started_at_ms / MS_PER_S;

    return text_format("%" PRId64 " s", now_s > started_s ? now_s - started_s : 0);
}

/* "p1 is running, 34 s": what became of it. */
static char *state_of(const struct sandlot_process *process)
{
    AUTO_FREE char *age = age_of(process);

    if (process->state == SANDLOT_PROCESS_RUNNING)
        return age ? text_format("%s is running, %s", process->id, age) : NULL;
    if (process->state == SANDLOT_PROCESS_LOST)
        return text_format("%s was lost: the sandbox was restarted, or all of its processes were killed", process->id);
    if (process->timed_out)
        return text_format("%s was ended by its time limit, with exit code %d", process->id, process->exit_code);
    return text_format("%s %s with exit code %d", process->id, process->exit_code == 0 ? "succeeded" : "failed",
                       process->exit_code);
}

static char *status_of(const struct sandlot_process *process, uint64_t skipped)
{
    AUTO_FREE char *state = state_of(process);

    if (!state || skipped == 0)
        return state ? text_format("[%s]", state) : NULL;
    return text_format("[%" PRIu64 " bytes of output before this are no longer kept.]\n[%s]", skipped, state);
}

/* The reply: what came, and STATUS as its last line. */
static int reply_with_news(const struct work *work, struct news *news, const struct sandlot_process *process,
                           const char *status, struct reply *reply, struct sandlot_error *error)
{
    struct printed printed = {0};

    printed_take(&news->output, &printed);
    snprintf(reply->process, sizeof(reply->process), "%s", process->id);
    reply->next_offset = (int64_t)news->next;
    reply->ran = process->state == SANDLOT_PROCESS_EXITED;
    reply->has_exit_code = process->has_exit_code;
    reply->exit_code = process->exit_code;
    reply->timed_out = reply->ran && process->timed_out;
    int failed = status ? execute_reply(work, &printed, status, reply, error) : error_no_memory(error);

    free(printed.text);
    return failed;
}

/* ---- execute with background ---- */

static int start(const struct work *work, char id[SANDLOT_PROCESS_ID_SIZE], struct sandlot_error *error)
{
    const struct argument *cwd = argument(work->arguments, "cwd");
    const struct argument *timeout = argument(work->arguments, "timeout");
    AUTO_FREE char *directory =
        cwd->given ? sandbox_path(cwd->text, sandlot_session_working_dir(work->session), false, error) : NULL;
    const struct sandlot_start request = {.size = sizeof(request),
                                          .command = argument(work->arguments, "command")->text,
                                          .working_dir = directory,
                                          .timeout_ms = timeout->given ? timeout->number * MS_PER_S : 0,
                                          .has_input = argument(work->arguments, "stdin")->flag,
                                          .cancellation = work->call->cancellation};

    return cwd->given && !directory ? -1 : sandlot_start_process(work->session, &request, id, error);
}

/* One that ends within the first second is answered as if it had not been meant for the background. */
static char *early_status(const struct sandlot_process *process)
{
    const struct sandlot_result result = {
        .has_exit_code = process->has_exit_code, .exit_code = process->exit_code, .timed_out = process->timed_out};

    if (process->state == SANDLOT_PROCESS_RUNNING)
        return text_format("[Running in the background as %s. Use process to see more.]", process->id);
    return process->state == SANDLOT_PROCESS_EXITED ? text_of_status(&result) : status_of(process, 0);
}

int execute_in_background(const struct work *work, struct reply *reply, struct sandlot_error *error)
{
    struct news news = {.call = work->call};
    struct sandlot_process process = {.size = sizeof(process)};
    char id[SANDLOT_PROCESS_ID_SIZE];

    if (start(work, id, error) < 0)
        return -1;
    output_init(&news.output, SANDLOT_DEFAULT_OUTPUT_LIMIT);
    int failed = look(work, id, 0, EARLY_MS, false, &news, &process, error);

    if (failed) {
        error_prefix(error, "Running in the background as %s, but ", id);
    } else {
        AUTO_FREE char *status = early_status(&process);

        failed = reply_with_news(work, &news, &process, status, reply, error);
        reply->is_error = reply->timed_out;
    }
    sandlot_process_clear(&process);
    output_clear(&news.output);
    return failed;
}

/* ---- process ---- */

static bool add_line(void *context, const struct sandlot_process *process)
{
    AUTO_FREE char *state = state_of(process);
    AUTO_FREE char *command = text_visible(process->command);
    const size_t length = command ? strlen(command) : 0;
    size_t shown = length > SHOWN_COMMAND ? SHOWN_COMMAND : length;

    while (shown > 0 && shown < length && ((unsigned char)command[shown] & 0xc0) == 0x80)
        shown--;
    buffer_format(context, "%s: %.*s%s\n", state ? state : process->id, (int)shown, command ? command : "",
                  shown < length ? "..." : "");
    return true;
}

static int reply_with_list(const struct work *work, struct reply *reply, struct sandlot_error *error)
{
    struct buffer lines = {0};

    if (sandlot_list_processes(work->session, work->call->cancellation, add_line, &lines, error) < 0) {
        buffer_clear(&lines);
        return -1;
    }
    size_t length = 0;
    AUTO_FREE char *text = buffer_take(&lines, &length);

    if (!text)
        return error_no_memory(error);
    if (length == 0)
        return reply_set(reply, strdup("No background processes"), strlen("No background processes"), error);
    length--; /* the last line end */
    if (length > work->maximum) {
        reply->truncated = true;
        AUTO_FREE char *valid = text_utf8_replace(text, work->maximum - 100, NULL);
        char *cut = valid ? text_format("%s\n[The rest of the list is cut.]", valid) : NULL;

        return reply_set(reply, cut, cut ? strlen(cut) : 0, error);
    }
    text[length] = '\0';
    return reply_set(reply, TAKE(text), length, error);
}

/* 0 also where the process had ended before: its last line says so. */
static int forgive_end(int failed, struct sandlot_error *why, struct sandlot_error *error)
{
    if (failed && why->code != SANDLOT_CODE_PROCESS_ENDED)
        error_set(error, why->code, "%s", why->message);
    failed = failed && why->code != SANDLOT_CODE_PROCESS_ENDED ? -1 : 0;
    sandlot_error_clear(why);
    return failed;
}

static int send_signal(const struct work *work, const char *id, struct sandlot_error *error)
{
    const struct argument *name = argument(work->arguments, "signal");
    const struct sandlot_signal request = {
        .size = sizeof(request), .id = id, .name = name->text, .cancellation = work->call->cancellation};
    struct sandlot_error why = {0};

    return name->given ? forgive_end(sandlot_signal_process(work->session, &request, &why), &why, error) : 0;
}

static int send_input(const struct work *work, const char *id, struct sandlot_error *error)
{
    const struct argument *input = argument(work->arguments, "input");
    const bool close = argument(work->arguments, "close_input")->flag;
    struct sandlot_error why = {0};

    if (!close && !(input->given && input->length > 0))
        return 0;
    int failed = sandlot_write_process(work->session, id, input->text, input->length, close, NULL,
                                       work->call->cancellation, &why);

    if (failed && why.code == SANDLOT_CODE_INPUT_CLOSED) {
        sandlot_error_clear(&why);
        return error_set(error, SANDLOT_CODE_INPUT_CLOSED,
                         "%s takes no input: it was started without, or that has been closed. Start it with execute, "
                         "background and stdin both true.",
                         id);
    }
    return forgive_end(failed, &why, error);
}

/* A list would hide from the model that nothing of this was done. */
static bool is_for_one(const struct work *work)
{
    return argument(work->arguments, "input")->given || argument(work->arguments, "close_input")->flag ||
           argument(work->arguments, "signal")->given || argument(work->arguments, "offset")->given;
}

int tool_process(const struct work *work, struct reply *reply, struct sandlot_error *error)
{
    const struct argument *id = argument(work->arguments, "id");
    const struct argument *wait = argument(work->arguments, "wait");
    const struct argument *offset = argument(work->arguments, "offset");
    struct news news = {.call = work->call};
    struct sandlot_process process = {.size = sizeof(process)};

    if (!sandlot_session_can_execute(work->session))
        return error_set(error, SANDLOT_CODE_NOT_SUPPORTED,
                         "This sandbox only serves files: commands cannot be run in it.");
    if (!id->given || id->length == 0)
        return is_for_one(work)
                   ? error_set(error, SANDLOT_CODE_USAGE,
                               "process needs id to know for which one this is. Without arguments it lists them all.")
                   : reply_with_list(work, reply, error);
    if (send_signal(work, id->text, error) < 0 || send_input(work, id->text, error) < 0)
        return -1;
    output_init(&news.output, SANDLOT_DEFAULT_OUTPUT_LIMIT);
    int failed = look(work, id->text, offset->given ? offset->number : process_cursor(work->session, id->text),
                      (wait->given ? wait->number : DEFAULT_WAIT_S) * MS_PER_S, true, &news, &process, error);

    if (!failed) {
        AUTO_FREE char *status = status_of(&process, news.skipped);

        failed = reply_with_news(work, &news, &process, status, reply, error);
    }
    sandlot_process_clear(&process);
    output_clear(&news.output);
    return failed;
}

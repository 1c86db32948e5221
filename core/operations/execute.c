/* Running one command for the caller: its input, its output, its end. */
#include "base/error.h"
#include "base/sized.h"
#include "operations/input.h"
#include "operations/output.h"
#include "session/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What every header has: without it there is nothing to run, and nobody who frees the output. */
#define EXECUTION_LEAST SIZED_UP_TO(struct sandlot_execution, command)
#define RESULT_LEAST SIZED_UP_TO(struct sandlot_result, output_length)

/* Where the output of one command goes: to the caller as it comes, or into OUTPUT. */
struct receiver {
    struct sandlot_sink sink;
    const struct sandlot_execution *execution;
    struct output output;
    char last;                   /* the last byte that came, 0 before the first */
    enum sandlot_status stopped; /* why no more is taken: the caller has had enough, or there is no memory */
};

static enum sandlot_status receive(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct receiver *receiver = sink->context;

    if (length == 0 || receiver->stopped != SANDLOT_OK)
        return receiver->stopped;
    receiver->last = ((const char *)bytes)[length - 1];
    if (!receiver->execution->output) {
        receiver->stopped = output_add(&receiver->output, bytes, length) ? SANDLOT_OK : SANDLOT_EXHAUSTED;
        return receiver->stopped;
    }
    receiver->output.total += length;
    if (!receiver->execution->output(receiver->execution->context, bytes, length))
        receiver->stopped = SANDLOT_CANCELLED;
    return receiver->stopped;
}

/* The command may have ended all the same when the output was stopped; it counts as stopped. */
static int stop_error(const struct receiver *receiver, struct sandlot_error *error)
{
    if (receiver->stopped == SANDLOT_OK)
        return 0;
    if (receiver->stopped == SANDLOT_EXHAUSTED)
        return error_no_memory(error);
    return error_set(error, SANDLOT_CODE_CANCELLED, "the command was cancelled by the receiver of its output");
}

/* A sentence of ours on a line of its own after what the command printed. */
static void add_line(struct receiver *receiver, const char *line)
{
    if (receiver->last && receiver->last != '\n')
        receive(&receiver->sink, "\n", 1);
    receive(&receiver->sink, line, strlen(line));
    receive(&receiver->sink, "\n", 1);
}

static int check(const struct sandlot_execution *execution, struct sandlot_error *error)
{
    if (!execution->command || !execution->command[strspn(execution->command, " \t\n")])
        return error_set(error, SANDLOT_CODE_USAGE, "the command must not be empty");
    if (execution->timeout_ms < SANDLOT_NO_TIMEOUT)
        return error_set(error, SANDLOT_CODE_USAGE, "the time limit must not be negative");
    if (execution->has_input && execution->input_fd < 0)
        return error_set(error, SANDLOT_CODE_USAGE,
                         "the descriptor of the command's input is not open; has_input "
                         "wants one in input_fd");
    if (execution->working_dir && execution->working_dir[0] != '/')
        return error_set(error, SANDLOT_CODE_USAGE, "the working directory %s is not an absolute path in the sandbox",
                         execution->working_dir);
    return check_variables(execution->environment, error);
}

static int fill_result(struct receiver *receiver, const struct sandlot_exit *ended, struct sandlot_result *result,
                       struct sandlot_error *error)
{
    struct sandlot_result full = {.has_exit_code = ended->exit_code != SANDLOT_EXIT_UNKNOWN,
                                  .exit_code = ended->exit_code,
                                  .timed_out = ended->timed_out,
                                  .output_total = receiver->output.total};

    if (!receiver->execution->output) {
        full.output = output_take(&receiver->output, &full.output_length, &full.truncated);
        if (!full.output)
            return error_no_memory(error);
    }
    sized_write(result, &full, sizeof(full));
    return 0;
}

static void add_notes(struct receiver *receiver, const struct sandlot_exit *ended, int64_t timeout_ms)
{
    char line[160];

    if (ended->timed_out) {
        bool whole = timeout_ms % 1000 == 0;

        snprintf(line, sizeof(line), "[Command timed out after %lld %s and was ended]",
                 (long long)(whole ? timeout_ms / 1000 : timeout_ms), whole ? "s" : "ms");
        add_line(receiver, line);
    }
    if (ended->note) {
        snprintf(line, sizeof(line), "[%s]", ended->note);
        add_line(receiver, line);
    }
}

static int64_t time_limit(int64_t wanted_ms)
{
    if (wanted_ms == SANDLOT_NO_TIMEOUT)
        return 0;
    return wanted_ms == 0 ? SANDLOT_DEFAULT_TIMEOUT_MS : session_command_timeout(wanted_ms);
}

static int execute(struct sandlot_session *session, const struct sandlot_execution *execution,
                   struct sandlot_result *result, struct sandlot_error *error)
{
    int64_t timeout_ms = time_limit(execution->timeout_ms);
    int cancel_fd = cancellation_fd(execution->cancellation);
    int64_t deadline_ms = session_command_deadline(timeout_ms);
    struct receiver receiver = {.execution = execution};
    struct input input = {0};
    struct sandlot_command command = {.size = sizeof(command),
                                      .command = execution->command,
                                      .working_dir =
                                          execution->working_dir ? execution->working_dir : session->working_dir,
                                      .environment = execution->environment,
                                      .timeout_ms = timeout_ms,
                                      .input = execution->has_input ? &input.source : NULL};
    struct sandlot_exit ended = {.size = sizeof(ended)};
    struct sandlot_error why = {0};

    receiver.sink = (struct sandlot_sink){sizeof(receiver.sink), &receiver, receive};
    input_init(&input, execution->input_fd, deadline_ms, cancel_fd);
    output_init(&receiver.output, execution->output_limit ? execution->output_limit : SANDLOT_DEFAULT_OUTPUT_LIMIT);
    int failed = session_run(session, &command, &receiver.sink, &ended, deadline_ms, cancel_fd, NULL, &why);

    if (!failed)
        add_notes(&receiver, &ended, timeout_ms);
    if (stop_error(&receiver, error) < 0)
        failed = -1;
    else if (failed && input_error(&input, error) == 0)
        error_set(error, why.code, "%s", why.message);
    else if (!failed)
        failed = fill_result(&receiver, &ended, result, error);
    sandlot_error_clear(&why);
    output_clear(&receiver.output);
    return failed;
}

int sandlot_execute(struct sandlot_session *session, const struct sandlot_execution *execution,
                    struct sandlot_result *result, struct sandlot_error *error)
{
    struct sandlot_execution own;

    if (sized_read(&own, sizeof(own), execution, EXECUTION_LEAST, "sandlot_execution", error) < 0 ||
        sized_check(result, RESULT_LEAST, "sandlot_result", error) < 0 || check(&own, error) < 0)
        return -1;
    return execute(session, &own, result, error);
}

void sandlot_result_clear(struct sandlot_result *result)
{
    if (!result)
        return;
    free(result->output);
    result->output = NULL;
    result->output_length = 0;
}

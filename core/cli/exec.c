/* sandlot exec: one command in a sandbox. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/names.h"
#include "cli/output.h"
#include "cli/process_command.h"
#include "cli/progress.h"
#include "cli/sandbox.h"
#include "cli/signals.h"
#include "cli/terminal_filter.h"
#include "cli/usage.h"
#include "tools/refusals.h"

#include <string.h>

enum { TIMED_OUT_STATUS = 124, COMMAND_NOT_FOUND = 127 };

/* Where live output goes. */
struct stream {
    bool to_terminal;
    struct terminal_filter filter;
};

static bool on_output(void *context, const void *bytes, size_t length)
{
    struct stream *stream = context;

    progress_end();
    if (!stream->to_terminal)
        return output_write(bytes, length);
    AUTO_FREE char *clean = malloc(length + TERMINAL_FILTER_SLACK);

    return clean && output_write(clean, terminal_filter(&stream->filter, bytes, length, clean));
}

static void end_stream(struct stream *stream)
{
    char rest[TERMINAL_FILTER_SLACK];

    if (stream->to_terminal)
        output_write(rest, terminal_filter_end(&stream->filter, rest));
}

static int run(const struct context *context, struct sandlot_session *session, const char *command,
               struct sandlot_result *result, struct sandlot_error *error)
{
    const struct options *options = context->options;
    struct stream stream = {.to_terminal = isatty(STDOUT_FILENO) == 1};
    AUTO_FREE char *directory = options->cwd ? sandbox_directory(options, session) : NULL;
    struct sandlot_execution execution = {.size = sizeof(execution),
                                          .command = command,
                                          .timeout_ms = options->timeout_ms,
                                          .working_dir = directory,
                                          .environment = options->environment,
                                          .has_input = options->given & OPTION_STDIN,
                                          .input_fd = STDIN_FILENO,
                                          .output = options->json ? NULL : on_output,
                                          .context = &stream,
                                          .cancellation = context->cancellation};

    if (options->cwd && !directory)
        return error_no_memory(error);
    int outcome = sandlot_execute(session, &execution, result, error);

    end_stream(&stream);
    return outcome;
}

/* `exec ID COMMAND`, as other tools have it: what was not found as a command is a sandbox. */
static void hint_at_id(const struct context *context, const struct sandlot_result *result)
{
    const struct options *options = context->options;
    const char *id = options->arguments[0];
    struct owner owner = {0};

    if (result->exit_code != COMMAND_NOT_FOUND || options->argument_count < 2 || options->sandbox_id)
        return;
    AUTO_FREE char *named = names_to_id(options, id);

    if (owner_find(context->sandlot, options, named ? named : id, &owner, NULL) > 0)
        progress_line("sandlot: %s is a sandbox; to run a command in it: sandlot exec --sandbox-id %s -- COMMAND", id,
                      id);
    owner_clear(&owner);
}

static struct json_object *result_object(const struct sandlot_result *result, const char *id)
{
    struct json_object *object = json_object_new_object();

    json_object_object_add(object, "exit_code", result->has_exit_code ? json_object_new_int(result->exit_code) : NULL);
    json_object_object_add(object, "output", json_bytes(result->output ? result->output : "", result->output_length));
    json_object_object_add(object, "truncated", json_object_new_boolean(result->truncated));
    json_object_object_add(object, "timed_out", json_object_new_boolean(result->timed_out));
    json_object_object_add(object, "sandbox_id", json_text(id));
    return object;
}

/* The exit status that passes the command's own through. */
static int command_status(const struct sandlot_result *result)
{
    if (result->timed_out)
        return TIMED_OUT_STATUS;
    if (result->has_exit_code)
        return result->exit_code;
    progress_line("sandlot: the provider did not say how the command ended; look at its output to tell");
    return 1;
}

/* A command that ran. CLOSING is the error of the cleaning up, if it failed. */
static int report_result(const struct options *options, const struct sandlot_result *result, const char *id,
                         const struct sandlot_error *closing)
{
    int failed = error_is_set(closing) ? error_exit_status(closing->code) : 0;

    if (!options->json) {
        int status = command_status(result);

        return status ? status : failed;
    }
    struct json_object *object = result_object(result, id);

    if (failed)
        json_add_error(object, closing);
    output_json(object);
    return failed;
}

/* INPUT is the command. */
static int run_and_close(const struct context *context, struct sandlot_session *session, const void *input)
{
    const struct options *options = context->options;
    struct sandlot_result result = {.size = sizeof(result)};
    struct sandlot_error error = {0};
    struct sandlot_error closing = {0};
    AUTO_FREE char *id = strdup(sandlot_session_id(session));
    int64_t begin_ms = refusals_clock();
    int outcome = run(context, session, input, &result, &error);
    bool failed = outcome == 0 && (!result.has_exit_code || result.exit_code != 0);
    bool going = !options->sandbox_id && !options->scope;
    AUTO_FREE char *refusals = failed ? refusals_since(session, begin_ms, going, context->cancellation) : NULL;
    int status = 1;

    if (refusals)
        progress_line("sandlot: %s", refusals);
    sandbox_close(context, session, &closing);
    if (outcome == 0)
        hint_at_id(context, &result);
    if (outcome == 0)
        status = report_result(options, &result, id, &closing);
    else if (!output_failed()) /* else the broken output is what is wrong, and context_status tells */
        status = report_error(options, &error);
    sandlot_result_clear(&result);
    sandlot_error_clear(&error);
    sandlot_error_clear(&closing);
    return context_status(status);
}

/* What belongs to one kind of run alone. 0, or the exit status after the complaint. */
static int check(const struct options *options)
{
    bool detach = options->given & OPTION_DETACH;

    if (!detach && options->given & (OPTION_STDIN_OPEN | OPTION_LOG_LIMIT))
        return usage_error(options->command, "%s goes with --detach only",
                           options->given & OPTION_LOG_LIMIT ? "--log-limit" : "--stdin-open");
    if (detach && options->given & OPTION_STDIN)
        return usage_error(options->command,
                           "--stdin ends with this command, which --detach does not wait for; with --stdin-open "
                           "'sandlot input' can feed the process");
    return detach ? process_command_check(options) : 0;
}

int command_exec(const struct options *options)
{
    AUTO_FREE char *command = text_shell_join(options->arguments, options->argument_count);
    int status = check(options);

    if (status)
        return status;
    if (!command || !command[strspn(command, " \t\n")])
        return usage_error(options->command, "the command is empty; write what to run behind --");
    if (options->given & OPTION_DETACH)
        return process_command_detach(options, command);
    return sandbox_command(options, NULL, run_and_close, command);
}

/* sandlot wait: until a background process has ended. */
#include "base/error.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/process_command.h"
#include "cli/sandbox.h"

enum { STILL_RUNNING = 124 };

static int wait_for(const struct context *context, struct sandlot_session *session, struct sandlot_process *process,
                    struct sandlot_error *error)
{
    const struct options *options = context->options;
    const bool limited = options->given & OPTION_TIMEOUT && options->timeout_ms > 0;
    const struct sandlot_follow request = {.size = sizeof(request),
                                           .id = options->arguments[0],
                                           .wait_ms = limited ? options->timeout_ms : -1,
                                           .cancellation = context->cancellation};

    if (sandlot_follow_process(session, &request, NULL, process, error) < 0)
        return -1;
    return process->state == SANDLOT_PROCESS_LOST ? process_lost_error(error, options->arguments[0]) : 0;
}

/* The exit status. ERROR: what went wrong, also where the process is known to be lost. */
static int report(const struct options *options, const struct sandlot_process *process,
                  const struct sandlot_error *error)
{
    const bool known = process->command;

    if (!options->json || !known) {
        if (error_is_set(error))
            return report_error(options, error);
        if (process->state == SANDLOT_PROCESS_RUNNING)
            return STILL_RUNNING;
        return process->has_exit_code ? process->exit_code : 1;
    }
    struct json_object *object = process_object(process);

    if (error_is_set(error))
        report_error_in(object, error);
    output_json(object);
    return error_is_set(error) ? error_exit_status(error->code) : 0;
}

static int wait_and_close(const struct context *context, struct sandlot_session *session, const void *input)
{
    (void)input;
    struct sandlot_process process = {.size = sizeof(process)};
    struct sandlot_error error = {0};
    struct sandlot_error closing = {0};

    wait_for(context, session, &process, &error);
    sandbox_close(context, session, &closing);
    int status = report(context->options, &process, error_is_set(&error) ? &error : &closing);

    sandlot_process_clear(&process);
    sandlot_error_clear(&error);
    sandlot_error_clear(&closing);
    return context_status(status);
}

int command_wait(const struct options *options)
{
    int status = process_command_check(options);

    return status ? status : sandbox_command(options, NULL, wait_and_close, NULL);
}

/* sandlot kill: ends background processes, or sends them a signal. */
#include "base/error.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/process_command.h"
#include "cli/progress.h"
#include "cli/signals.h"

/* Sends it to one, and keeps what came of that; the first error goes to WORST. */
static void kill_one(const struct context *context, struct sandlot_session *session, const char *id,
                     struct json_object *results, struct sandlot_error *worst)
{
    const struct options *options = context->options;
    const struct sandlot_signal request = {.size = sizeof(request),
                                           .id = id,
                                           .name = options->signal,
                                           .grace_ms = options->grace_ms,
                                           .cancellation = context->cancellation};
    struct sandlot_error error = {0};
    struct json_object *result = json_object_new_object();

    sandlot_signal_process(session, &request, &error);
    json_object_object_add(result, "id", json_text(id));
    json_object_object_add(result, "error",
                           error_is_set(&error) ? json_object_new_string(sandlot_code_name(error.code)) : NULL);
    if (error_is_set(&error))
        json_object_object_add(result, "message", json_text(error.message));
    json_object_array_add(results, result);
    if (error_is_set(&error) && !options->json)
        progress_line("sandlot: %s", error.message);
    if (error_is_set(&error) && error_exit_status(error.code) > error_exit_status(worst->code)) {
        sandlot_error_clear(worst);
        error_set(worst, error.code, "%s", error.message);
    }
    sandlot_error_clear(&error);
}

static int work(const struct context *context, struct sandlot_session *session, const void *input,
                struct answer *answer, struct sandlot_error *error)
{
    (void)input;
    const struct options *options = context->options;
    struct json_object *results = json_object_new_array();

    for (size_t i = 0; i < options->argument_count && !signals_received(); i++)
        kill_one(context, session, options->arguments[i], results, error);
    answer->told = true;
    answer->object = json_object_new_object();
    json_object_object_add(answer->object, "results", results);
    return error_is_set(error) ? -1 : 0;
}

int command_kill(const struct options *options)
{
    return process_command(options, work);
}

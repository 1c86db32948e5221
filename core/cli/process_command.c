#include "cli/process_command.h"

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/sandbox.h"
#include "cli/usage.h"

#include <stdlib.h>
#include <string.h>

int process_command_check(const struct options *options)
{
    if (options->sandbox_id || options->scope)
        return 0;
    return usage_error(options->command,
                       "a background process needs a sandbox that stays: make one with 'sandlot create' and name it "
                       "with --sandbox-id ID, or use --scope KEY; a new one would be deleted with this command");
}

int process_command(const struct options *options, file_work work)
{
    int status = process_command_check(options);

    return status ? status : file_command(options, work, NULL);
}

const char *process_state_name(enum sandlot_process_state state)
{
    switch (state) {
    case SANDLOT_PROCESS_RUNNING:
        return "running";
    case SANDLOT_PROCESS_EXITED:
        return "exited";
    default:
        return "lost";
    }
}

static void add_time(struct json_object *object, const char *name, int64_t at_ms)
{
    char *text = time_text(at_ms);

    json_object_object_add(object, name, text ? json_object_new_string(text) : NULL);
    free(text);
}

struct json_object *process_object(const struct sandlot_process *process)
{
    struct json_object *object = json_object_new_object();

    json_object_object_add(object, "id", json_object_new_string(process->id));
    json_object_object_add(object, "state", json_object_new_string(process_state_name(process->state)));
    json_object_object_add(object, "exit_code",
                           process->has_exit_code ? json_object_new_int(process->exit_code) : NULL);
    json_object_object_add(object, "timed_out", json_object_new_boolean(process->timed_out));
    add_time(object, "started_at", process->started_at_ms);
    add_time(object, "ended_at", process->ended_at_ms);
    json_object_object_add(object, "output_first", json_object_new_int64((int64_t)process->output_first));
    json_object_object_add(object, "output_total", json_object_new_int64((int64_t)process->output_total));
    json_object_object_add(object, "input_open", json_object_new_boolean(process->input_open));
    json_object_object_add(object, "command", json_text(process->command));
    return object;
}

int process_lost_error(struct sandlot_error *error, const char *id)
{
    return error_set(error, SANDLOT_CODE_PROVIDER_ERROR,
                     "nobody saw the end of process %s: the sandbox was restarted, or all of its processes were "
                     "killed; 'sandlot logs' prints what it had printed",
                     id);
}

/* ---- exec --detach ---- */

static int start(const struct context *context, struct sandlot_session *session, const void *input,
                 struct answer *answer, struct sandlot_error *error)
{
    const struct options *options = context->options;
    char *directory = options->cwd ? sandbox_directory(options, session) : NULL;
    const struct sandlot_start request = {
        .size = sizeof(request),
        .command = input,
        .working_dir = directory,
        .environment = options->environment,
        .timeout_ms = options->given & OPTION_TIMEOUT && options->timeout_ms > 0 ? options->timeout_ms : 0,
        .log_bytes = options->log_bytes,
        .has_input = options->given & OPTION_STDIN_OPEN,
        .cancellation = context->cancellation};
    char id[SANDLOT_PROCESS_ID_SIZE];
    int failed = options->cwd && !directory ? error_no_memory(error) : 0;

    failed = failed ? failed : sandlot_start_process(session, &request, id, error);
    free(directory);
    if (failed)
        return -1;
    if (!options->json)
        return answer_with_text(answer, strdup(id), error);
    struct json_object *object = json_object_new_object();

    json_object_object_add(object, "process", json_object_new_string(id));
    json_object_object_add(object, "sandbox_id", json_text(sandlot_session_id(session)));
    return answer_with_object(answer, object, error);
}

int process_command_detach(const struct options *options, const char *command)
{
    return file_command(options, start, command);
}

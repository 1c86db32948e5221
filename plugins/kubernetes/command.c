/*
 * Closing the connection of pods/exec does not end the program, and nobody tells whether one whose connection broke has
 * run; there is no time limit, no folder, no variables, and a child that holds the output holds the connection. So what
 * is run is a script of remote_command.h, which keeps the promises of `execute` in the container. The script comes by
 * standard input, because gateways do not take long addresses; `head` knows its end where the protocol has none (v4).
 */
#include "command.h"

#include "files.h"
#include "pod.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/end_marked.h>
#include <sandlot/sdk/remote_command.h>

#include <stdlib.h>
#include <string.h>

enum { HOLD_MS = 50 * 1000 }; /* gateways cut what is silent for a minute */

enum sandlot_status command_explain(struct sandlot_call *call, const struct exec_status *status)
{
    bool no_shell = strstr(status->why, "not found in $PATH") || strstr(status->why, "no such file");

    return sandlot_fail(call, no_shell ? SANDLOT_UNSUPPORTED : SANDLOT_UNAVAILABLE,
                        no_shell ? "the container has no sh: %s; use an image with a POSIX shell"
                                 : "Kubernetes could not run a command: %s; try again",
                        status->why);
}

static enum sandlot_status run_script(struct sandlot_call *call, void *context, const struct remote_script *script,
                                      const struct sandlot_sink *output, char *reason, size_t capacity)
{
    size_t length = strlen(script->text);
    char line[128];
    const char *const words[] = {"sh", "-c", line, "sandlot", NULL};
    struct exec exec;

    (void)reason;
    (void)capacity;
    snprintf(line, sizeof(line), "true 2>/dev/null >" POD_USED "; eval \"$(head -c %zu)\"", length);
    enum sandlot_status status = sandbox_exec(call, context, words, true, false, &exec);

    if (status != SANDLOT_OK)
        return status;
    status = exec_send(call, &exec, EXEC_INPUT, script->text, length);
    if (status == SANDLOT_OK)
        status = exec_end_input(call, &exec);
    if (status == SANDLOT_OK)
        status = sandbox_finish(call, context, &exec, output);
    if (status == SANDLOT_OK && !exec.status.ran)
        status = command_explain(call, &exec.status);
    exec_free(&exec);
    return status;
}

static struct remote_channel channel_of(void *handle)
{
    const struct sandbox *sandbox = handle;

    return (struct remote_channel){.context = handle,
                                   .run = run_script,
                                   .put = files_put,
                                   .hold_ms = HOLD_MS,
                                   .streams = true,
                                   .working_dir = sandbox->kubernetes->access.parameters.working_dir};
}

/* ---- variables --------------------------------------------------------------------------------------------------- */

void command_free_variables(char **variables)
{
    for (char **at = variables; at && *at; at++)
        free(*at);
    free(variables);
}

char **command_variables(struct sandlot_call *call, const struct sandbox *sandbox, const char *const *extra,
                         bool lasting)
{
    AUTO_DOCUMENT struct json_object *own = NULL;
    size_t count = 0;
    size_t used = 0;

    if (parameter_variables(call, "environment", sandbox->kubernetes->access.parameters.environment, &own) !=
        SANDLOT_OK)
        return NULL;
    while (extra && extra[count])
        count++;
    char **made = calloc(count + (own ? (size_t)json_object_object_length(own) : 0) + 2, sizeof(*made));
    bool failed = !made;

    if (own && made) {
        json_object_object_foreach(own, name, value)
        {
            if (!failed && asprintf(&made[used++], "%s=%s", name, json_object_get_string(value)) < 0)
                made[--used] = NULL, failed = true;
        }
    }
    for (size_t i = 0; i < count && !failed; i++)
        failed = !(made[used++] = strdup(extra[i]));
    if (lasting && !failed)
        failed = !(made[used] = strdup(POD_CONNECTED "1"));
    if (!failed)
        return made;
    command_free_variables(made);
    http_no_memory(call);
    return NULL;
}

enum sandlot_status command_execute(struct sandlot_call *call, void *provider, void *handle,
                                    const struct sandlot_command *command, const struct sandlot_sink *output,
                                    struct sandlot_exit *result)
{
    const struct remote_channel channel = channel_of(handle);
    const struct sandbox *sandbox = handle;
    struct sandlot_command own = {.size = sizeof(own),
                                  .command = command->command,
                                  .working_dir = command->working_dir,
                                  .environment = command->environment,
                                  .timeout_ms = command->timeout_ms,
                                  .input = command->input};
    bool lasting = SANDLOT_HAS(command, flags) && (command->flags & SANDLOT_COMMAND_LEAVES_WORK);

    (void)provider;
    if (!sandbox->claim && !lasting) /* a pod has them itself */
        return remote_command_run(call, &channel, &own, output, result);
    char **variables = command_variables(call, sandbox, command->environment, lasting);

    if (!variables)
        return SANDLOT_INVALID_ARGUMENT;
    own.environment = (const char *const *)variables;
    enum sandlot_status status = remote_command_run(call, &channel, &own, output, result);

    command_free_variables(variables);
    return status;
}

void command_clean_up(struct sandlot_call *call, void *handle, const char *script)
{
    const struct remote_channel channel = channel_of(handle);

    remote_clean_up(call, &channel, script);
}

void command_kill(struct sandlot_call *call, struct sandbox *sandbox, const char *mark)
{
    size_t size = strlen(end_marked_script) + strlen(mark) + 64;
    AUTO_FREE char *script = malloc(size);

    if (!script)
        return; /* it ends with the pod */
    snprintf(script, size, "set -- SANDLOT_JOB=%s KILL\n%s", mark, end_marked_script);
    command_clean_up(call, sandbox, script);
}

/* sandlot pause, sandlot resume. */
#include "cli/command.h"
#include "cli/lifecycle.h"
#include "cli/output.h"

/* People see nothing: it worked. */
static void print_state(const struct context *context, const char *id, const char *state)
{
    if (!context->options->json)
        return;
    struct json_object *object = json_object_new_object();

    json_object_object_add(object, "id", json_text(id));
    json_object_object_add(object, "state", json_text(state));
    output_json(object);
}

static int pause_sandbox(const struct context *context, const struct sandlot_target *target, const char *id,
                         struct sandlot_error *error)
{
    if (sandlot_pause(context_sandlot(context), target, id, error) < 0)
        return -1;
    print_state(context, id, "paused");
    return 0;
}

static int resume_sandbox(const struct context *context, const struct sandlot_target *target, const char *id,
                          struct sandlot_error *error)
{
    if (sandlot_resume(context_sandlot(context), target, id, error) < 0)
        return -1;
    print_state(context, id, "running");
    return 0;
}

int command_pause(const struct options *options)
{
    return lifecycle_command(options, "Pausing", pause_sandbox);
}

int command_resume(const struct options *options)
{
    return lifecycle_command(options, "Resuming", resume_sandbox);
}

/* sandlot snapshot: keeps the state of a sandbox under a name. */
#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/lifecycle.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/usage.h"

/* What is printed is what --sandbox-snapshot-name takes. */
static void print_snapshot(const struct options *options, const char *use)
{
    progress_end();
    if (!options->json) {
        output_line(use);
        return;
    }
    struct json_object *object = json_object_new_object();

    json_object_object_add(object, "id", json_text(use));
    json_object_object_add(object, "name", json_text(options->name ? options->name : use));
    output_json(object);
}

static int take_snapshot(const struct context *context, const struct sandlot_target *target, const char *id,
                         struct sandlot_error *error)
{
    const struct options *options = context->options;
    const bool replace = options->given & OPTION_REPLACE;
    AUTO_FREE char *use = NULL;
    struct sandlot *sandlot = context_sandlot(context);
    const int result = options->given & OPTION_WITH_BASE
                           ? sandlot_snapshot_with_base(sandlot, target, id, options->name, replace, &use, error)
                           : sandlot_snapshot(sandlot, target, id, options->name, replace, &use, error);

    if (result < 0)
        return -1;
    print_snapshot(options, use);
    return 0;
}

int command_snapshot(const struct options *options)
{
    if ((options->given & OPTION_REPLACE) && !options->name)
        return usage_error(options->command, "--replace is for a name that is taken, and goes with --name");
    return lifecycle_command(options, "Keeping a snapshot of", take_snapshot);
}

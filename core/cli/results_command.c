#include "cli/results_command.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/json_list.h"
#include "cli/names.h"
#include "cli/output.h"
#include "cli/usage.h"
#include "results/export.h"

#include <string.h>

int results_command(const struct options *options, size_t least, file_work work)
{
    struct options own = *options;
    bool named = options->sandbox_id || options->scope;
    size_t before = named ? 0 : 1;

    if (options->argument_count < before + least)
        return usage_error(options->command, "%s", options->command->missing);
    const struct results_words words = {.rest = (const char *const *)options->arguments + before,
                                        .rest_count = options->argument_count - before};

    AUTO_FREE char *id = named ? NULL : names_to_id(options, options->arguments[0]);
    if (!named)
        own.sandbox_id = id ? id : options->arguments[0];
    if (own.sandbox_id && !*own.sandbox_id)
        return usage_error(options->command, "the id is empty");
    return file_command(&own, work, &words);
}

struct sandlot_changes_request results_request(const struct context *context, const char *const *paths)
{
    const struct options *options = context->options;

    return (struct sandlot_changes_request){.size = sizeof(struct sandlot_changes_request),
                                            .paths = paths && *paths ? paths : NULL,
                                            .force = options->force,
                                            .allow_risky = options->given & OPTION_RISKY,
                                            .dry_run = options->given & OPTION_DRY_RUN,
                                            .cancellation = context->cancellation};
}

char *results_warning(const struct change *change)
{
    const struct sandlot_change told = results_public(change);
    AUTO_FREE char *path = text_visible(told.path);

    if (!path)
        return NULL;
    if (told.conflict)
        return text_format("! changed on this machine too%s%s  %s\n", told.risk ? "; " : "", told.risk ? told.risk : "",
                           path);
    return told.risk ? text_format("! %s  %s\n", told.risk, path) : strdup("");
}

int results_add_changes(struct json_object *object, const struct results *results, struct sandlot_error *error)
{
    struct json_object *changes = json_list_new();
    bool added = changes;

    json_object_object_add(object, "changes", changes);
    for (size_t i = 0; i < results->count && added; i++) {
        const struct sandlot_change change = results_public(&results->changes[i]);

        added = json_list_add(changes, export_object(&change));
    }
    return added ? 0 : error_no_memory(error);
}

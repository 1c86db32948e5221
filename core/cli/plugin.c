/* sandlot plugin: for those who write providers and those who install them. One file per subcommand. */
#include "cli/plugin.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/usage.h"

#include <string.h>
#include <sys/stat.h>

int command_plugin(const struct options *options)
{
    return usage_error(options->command, "%s", options->command->missing);
}

char *plugin_folder(const struct options *options)
{
    if (options->given & OPTION_SYSTEM)
        return strdup(SYSTEM_PLUGIN_FOLDER);
    AUTO_FREE char *data = path_data_home();

    return data ? text_format("%s/providers", data) : NULL;
}

bool plugin_is(const struct registry_entry *entry)
{
    return entry->source == REGISTRY_PLUGIN && entry->path;
}

bool plugin_is_in(const struct registry_entry *entry, const char *folder)
{
    AUTO_FREE char *parent = entry->path ? path_parent(entry->path) : NULL;
    struct stat here;
    struct stat there;

    return parent && stat(parent, &here) == 0 && stat(folder, &there) == 0 && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino;
}

const struct registry_entry *plugin_hidden_by(const struct registry *registry, const struct registry_entry *entry)
{
    size_t count = 0;
    const struct registry_entry *const *entries = registry_entries_quietly(registry, &count);

    for (size_t i = 0; i < count && entry->name && !entry->winner; i++)
        if (entries[i]->winner && strcmp(entries[i]->name, entry->name) == 0)
            return entries[i];
    return NULL;
}

char *plugin_place(const struct registry_entry *entry)
{
    const char *path = entry->path ? entry->path : "(not installed)";

    if (entry->source == REGISTRY_CONFIG)
        return text_format("the entry [sandboxes.providers.%s] of the configuration", entry->name);
    return text_format("the %s %s", entry->source == REGISTRY_PLUGIN ? "plugin" : "built-in", path);
}

struct json_object *plugin_place_object(const struct registry_entry *entry)
{
    struct json_object *object = entry ? json_object_new_object() : NULL;

    if (!object)
        return NULL;
    json_object_object_add(object, "source", json_object_new_string(registry_source_name(entry->source)));
    json_object_object_add(object, "path", json_text(entry->path));
    return object;
}

char *plugin_part(const char *what, const char *installed)
{
    AUTO_FREE char *here = path_of_this_program();
    AUTO_FREE char *parent = here ? path_parent(here) : NULL;
    AUTO_FREE char *built = here ? text_format("%s/%s", here, what) : NULL;
    struct stat status;

    if (built && stat(built, &status) == 0)
        return TAKE(built);
    return parent ? text_format("%s/%s", parent, installed) : NULL;
}

int plugin_fail(const struct options *options, struct sandlot_error *error)
{
    int status = report_error(options, error);

    sandlot_error_clear(error);
    return status;
}

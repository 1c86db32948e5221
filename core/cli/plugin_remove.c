/* sandlot plugin remove: takes the file of a plugin away again. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/plugin.h"
#include "cli/progress.h"
#include "cli/usage.h"
#include "session/ledger.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* What there is of a name, and of a file. */
struct search {
    const struct registry_entry *const *entries;
    size_t count;
    const char *name;
    const char *folder;
};

/* The plugin of that name in the folder; NULL: none. */
static const struct registry_entry *find_here(const struct search *search)
{
    for (size_t i = 0; i < search->count; i++) {
        const struct registry_entry *entry = search->entries[i];

        if (plugin_is(entry) && entry->name && strcmp(entry->name, search->name) == 0 &&
            plugin_is_in(entry, search->folder))
            return entry;
    }
    return NULL;
}

/* Is the name that of the file of ENTRY? ".so" may be left out for one that does not say whose it is. */
static bool is_file_name(const struct search *search, const struct registry_entry *entry)
{
    const char *base = strrchr(entry->path, '/') + 1;
    const size_t length = strlen(search->name);

    return strncmp(base, search->name, length) == 0 &&
           (!base[length] || (!entry->name && strcmp(base + length, ".so") == 0));
}

/* The same by the name of the file. */
static const struct registry_entry *find_file_here(const struct search *search)
{
    for (size_t i = 0; i < search->count; i++)
        if (plugin_is(search->entries[i]) && is_file_name(search, search->entries[i]) &&
            plugin_is_in(search->entries[i], search->folder))
            return search->entries[i];
    return NULL;
}

/* The name is one of something that is not in the folder: what, and what to do about it. */
static int explain_elsewhere(const struct options *options, const struct registry_entry *entry)
{
    const char *name = options->arguments[0];

    if (entry->source == REGISTRY_CONFIG)
        return usage_error(options->command,
                           "%s is declared in the configuration and no installed plugin; take [sandboxes.providers.%s] "
                           "out of it",
                           name, name);
    if (entry->source == REGISTRY_BUILTIN)
        return usage_error(
            options->command,
            "%s comes with Sandlot and is no installed plugin; leave it, or shadow it with a plugin or a "
            "configuration entry of that name",
            name);
    if (strncmp(entry->path, SYSTEM_PLUGIN_FOLDER "/", strlen(SYSTEM_PLUGIN_FOLDER "/")) == 0)
        return usage_error(options->command, "%s is installed for all users, as %s; pass --system", name, entry->path);
    return usage_error(options->command,
                       "%s is not in the folder that this command looks after: it is %s, so remove that file, or its "
                       "package",
                       name, entry->path);
}

static int explain_unknown(const struct options *options, const struct search *search)
{
    AUTO_FREE const char **names = calloc(search->count + 1, sizeof(*names));
    size_t count = 0;

    for (size_t i = 0; names && i < search->count; i++)
        if (plugin_is(search->entries[i]) && search->entries[i]->name)
            names[count++] = search->entries[i]->name;
    const char *nearest = names ? text_nearest(search->name, names, count) : NULL;

    return usage_error(options->command, "there is no plugin %s%s%s%s; 'sandlot plugin list' shows those there are",
                       search->name, nearest ? ", did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

static int explain_missing(const struct options *options, const struct search *search)
{
    for (size_t i = 0; i < search->count; i++)
        if (search->entries[i]->name && strcmp(search->entries[i]->name, search->name) == 0)
            return explain_elsewhere(options, search->entries[i]);
    for (size_t i = 0; i < search->count; i++)
        if (plugin_is(search->entries[i]) && is_file_name(search, search->entries[i]))
            return explain_elsewhere(options, search->entries[i]);
    return explain_unknown(options, search);
}

/* The providers in the file of ENTRY; *OTHERS: with ", " between, to be freed, those that go along with the one that
 * was named. Who names the file means all of them. */
static struct json_object *names_in(const struct search *search, const struct registry_entry *entry, char **others)
{
    struct json_object *names = json_object_new_array();

    for (size_t i = 0; i < search->count; i++) {
        const struct registry_entry *other = search->entries[i];

        if (!plugin_is(other) || !other->name || strcmp(other->path, entry->path) != 0)
            continue;
        json_object_array_add(names, json_text(other->name));
        if (strcmp(other->name, search->name) != 0 && !is_file_name(search, entry))
            text_append(others, "%s%s", *others ? ", " : "", other->name);
    }
    return names;
}

static void warn_of_sandboxes(const char *provider)
{
    struct ledger_record **records = NULL;
    struct sandlot_error error = {0};
    AUTO_FREE char *ids = NULL;
    size_t count = 0;

    if (ledger_read(&records, &count, &error) == 0)
        for (size_t i = 0; i < count; i++)
            if (records[i]->id && strcmp(records[i]->provider, provider) == 0)
                text_append(&ids, "%s%s", ids ? ", " : "", records[i]->id);
    ledger_free_records(records, count);
    sandlot_error_clear(&error);
    if (ids)
        progress_line("sandlot: sandboxes of %s are still there, and nothing can delete them without the plugin: %s; "
                      "install it again for 'sandlot delete --sandbox %s ID'",
                      provider, ids, provider);
}

static void tell(const struct options *options, const struct registry_entry *entry, struct json_object *names,
                 const char *path)
{
    for (size_t i = 0; i < json_object_array_length(names); i++)
        warn_of_sandboxes(json_object_get_string(json_object_array_get_idx(names, i)));
    if (!options->json) {
        output_format("%s\n", path);
        return;
    }
    struct json_object *object = json_object_new_object();

    json_object_object_add(object, "name", json_text(entry->name));
    json_object_object_add(object, "path", json_text(path));
    json_object_object_add(object, "providers", json_object_get(names));
    output_json(object);
}

/* Sets ERROR by errno. */
static void cannot_remove(const struct options *options, const char *path, struct sandlot_error *error)
{
    const int why = errno;
    const char *advice = why == EISDIR ? "it is no plugin; remove it with rmdir or rm -r if nobody needs it"
                         : options->given & OPTION_SYSTEM ? "run this command as root"
                                                          : "look at the rights of its folder";

    error_set(error, why == EISDIR ? SANDLOT_CODE_IS_DIRECTORY : SANDLOT_CODE_PERMISSION_DENIED,
              "%s cannot be removed: %s; %s", path, strerror(why), advice);
}

static int remove_file(const struct context *context, const struct search *search, const struct registry_entry *entry)
{
    const struct options *options = context->options;
    AUTO_FREE char *others = NULL;
    struct json_object *names = names_in(search, entry, &others);
    struct sandlot_error error = {0};
    int status = 0;

    if (others && !(options->given & OPTION_ALL))
        status = usage_error(options->command, "%s also provides %s; pass --all to remove the file with all of them",
                             entry->path, others);
    else if (unlink(entry->path) < 0)
        cannot_remove(options, entry->path, &error);
    if (error_is_set(&error))
        status = plugin_fail(options, &error);
    else if (status == 0)
        tell(options, entry, names, entry->path);
    json_object_put(names);
    return status ? status : context_status(0);
}

static int remove_plugin(const struct context *context)
{
    AUTO_FREE char *folder = plugin_folder(context->options);
    struct search search = {.name = context->options->arguments[0], .folder = folder};
    struct sandlot_error error = {0};

    if (!folder) {
        error_no_memory(&error);
        return plugin_fail(context->options, &error);
    }
    search.entries = registry_entries_quietly(context->sandlot->registry, &search.count);
    const struct registry_entry *entry = find_here(&search);

    if (!entry)
        entry = find_file_here(&search);
    return entry ? remove_file(context, &search, entry) : explain_missing(context->options, &search);
}

int command_plugin_remove(const struct options *options)
{
    struct context context;
    int status = context_open(&context, options);

    if (status == 0)
        status = remove_plugin(&context);
    context_close(&context);
    return status;
}

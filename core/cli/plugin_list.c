/* sandlot plugin list: every plugin file that is found, also those that are hidden or cannot be used. */
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/plugin.h"
#include "session/readiness.h"

#include <string.h>

/* "1.0", to be freed; NULL: the file does not say. */
static char *abi_text(const struct registry_entry *entry)
{
    const struct entry_point *note = &entry->note;

    return note->name ? text_format("%u.%u", note->abi_major, note->abi_minor) : NULL;
}

static struct json_object *plugin_object(const struct context *context, const struct registry_entry *entry)
{
    struct json_object *object = json_object_new_object();
    AUTO_FREE char *reason = readiness_check(context->sandlot, entry, false);
    AUTO_FREE char *abi = abi_text(entry);

    json_object_object_add(object, "name", json_text(entry->name));
    json_object_object_add(object, "path", json_text(entry->path));
    json_object_object_add(object, "abi", json_text(abi));
    json_object_object_add(object, "description", json_text(entry->note.description));
    json_object_object_add(object, "ready", json_object_new_boolean(!reason));
    json_object_object_add(object, "reason", json_text(reason));
    json_object_object_add(object, "shadowed_by",
                           plugin_place_object(plugin_hidden_by(context->sandlot->registry, entry)));
    return object;
}

static void print_json(const struct context *context, const struct registry_entry *const *entries, size_t count)
{
    struct json_object *object = json_object_new_object();
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < count; i++)
        if (plugin_is(entries[i]))
            json_object_array_add(array, plugin_object(context, entries[i]));
    json_object_object_add(object, "plugins", array);
    output_json(object);
}

/* The REASON why it cannot be used, else what hides it, else what it is. To be freed; NULL: nothing is known. */
static char *remark(const struct context *context, const struct registry_entry *entry, const char *reason)
{
    const struct registry_entry *hider = plugin_hidden_by(context->sandlot->registry, entry);
    AUTO_FREE char *place = hider ? plugin_place(hider) : NULL;

    const size_t path_length = strlen(entry->path);

    /* The path has a column of its own. */
    if (reason && strncmp(reason, entry->path, path_length) == 0 && reason[path_length] == ' ')
        return strdup(reason + path_length + 1);
    if (reason)
        return strdup(reason);
    if (place)
        return text_format("not used: %s comes first", place);
    return entry->note.description ? text_format("%s", entry->note.description) : NULL;
}

static void print_table(const struct context *context, const struct registry_entry *const *entries, size_t count)
{
    static const char *const head[] = {"NAME", "ABI", "READY", "FILE", "DESCRIPTION"};
    struct table table = {.columns = sizeof(head) / sizeof(head[0])};

    table_add(&table, head);
    for (size_t i = 0; i < count; i++) {
        if (!plugin_is(entries[i]))
            continue;
        AUTO_FREE char *reason = readiness_check(context->sandlot, entries[i], false);
        AUTO_FREE char *abi = abi_text(entries[i]);
        AUTO_FREE char *text = remark(context, entries[i], reason);

        table_add(&table, (const char *[]){entries[i]->name, abi, reason ? "no" : "yes", entries[i]->path, text});
    }
    table_print(&table);
}

int command_plugin_list(const struct options *options)
{
    struct context context;
    int status = context_open(&context, options);

    if (status == 0) {
        size_t count = 0;
        const struct registry_entry *const *entries = registry_entries(context.sandlot->registry, &count);

        if (options->json)
            print_json(&context, entries, count);
        else
            print_table(&context, entries, count);
        status = context_status(0);
    }
    context_close(&context);
    return status;
}

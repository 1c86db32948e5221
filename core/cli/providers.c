/* sandlot providers: what there is, where it comes from, and whether it can be used. Loads none of them. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/usage.h"
#include "loader/parameters.h"
#include "session/readiness.h"

#include <math.h>
#include <string.h>

/* ---- as JSON ---- */

static const char *kind_name(enum sandlot_parameter_kind kind)
{
    switch (kind) {
    case SANDLOT_PARAMETER_integer:
        return "integer";
    case SANDLOT_PARAMETER_float:
        return "float";
    case SANDLOT_PARAMETER_boolean:
        return "boolean";
    case SANDLOT_PARAMETER_array:
        return "array";
    case SANDLOT_PARAMETER_table:
        return "table";
    case SANDLOT_PARAMETER_string:
    case SANDLOT_PARAMETER_path:
        break;
    }
    return "string";
}

/* An array as `--param` takes it: JSON, or words between commas. */
static struct json_object *array_default(const char *text)
{
    struct json_object *array = *text == '[' ? json_tokener_parse(text) : NULL;

    if (array)
        return array;
    array = json_object_new_array();
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, ",");

        json_object_array_add(array, json_bytes(at, length));
        at += length + (at[length] == ',');
    }
    return array;
}

static struct json_object *default_value(enum sandlot_parameter_kind kind, const char *text)
{
    int64_t integer;

    switch (kind) {
    case SANDLOT_PARAMETER_integer:
        return text_parse_integer(text, &integer) ? json_object_new_int64(integer) : NULL;
    case SANDLOT_PARAMETER_float:
        return isfinite(strtod(text, NULL)) ? json_object_new_double(strtod(text, NULL)) : NULL;
    case SANDLOT_PARAMETER_boolean:
        return json_object_new_boolean(strcmp(text, "true") == 0);
    case SANDLOT_PARAMETER_array:
        return array_default(text);
    case SANDLOT_PARAMETER_table:
        return json_tokener_parse(text);
    case SANDLOT_PARAMETER_string:
    case SANDLOT_PARAMETER_path:
        break;
    }
    return json_text(text);
}

static struct json_object *parameter_object(const char *name, enum sandlot_parameter_kind kind, uint32_t flags,
                                            const char *default_text, const char *help)
{
    struct json_object *object = json_object_new_object();
    bool secret = flags & SANDLOT_FLAG_secret;
    bool shown = default_text && *default_text && !secret;

    json_object_object_add(object, "name", json_text(name));
    json_object_object_add(object, "type", json_object_new_string(kind_name(kind)));
    json_object_object_add(object, "default", shown ? default_value(kind, default_text) : NULL);
    json_object_object_add(object, "required", json_object_new_boolean(flags & SANDLOT_FLAG_required));
    json_object_object_add(object, "secret", json_object_new_boolean(secret));
    json_object_object_add(object, "help", json_text(help));
    return object;
}

/* The provider's own parameters, then those that the host gives every provider. */
static struct json_object *parameters_array(const struct registry_entry *entry)
{
    struct json_object *array = json_object_new_array();
    size_t host_count = 0;
    const struct sandlot_parameter *host = parameters_of_host(&host_count);

    for (size_t i = 0; i < entry->note.parameter_count; i++) {
        const struct parameter_note *own = &entry->note.parameters[i];

        json_object_array_add(array, parameter_object(own->name, own->kind, own->flags, own->default_text, own->help));
    }
    for (size_t i = 0; entry->name && i < host_count; i++)
        json_object_array_add(
            array, parameter_object(host[i].name, host[i].kind, host[i].flags, host[i].default_text, host[i].help));
    return array;
}

static struct json_object *capabilities_object(const struct registry_entry *entry)
{
    struct json_object *object = json_object_new_object();

    json_object_object_add(object, "sandbox_id", json_object_new_boolean(entry->supports_sandbox_id));
    json_object_object_add(object, "snapshot_name", json_object_new_boolean(entry->supports_snapshot_name));
    for (int bit = CAPABILITY_LIST; bit <= CAPABILITY_LAST; bit <<= 1)
        json_object_object_add(object, capability_name((enum capability)bit),
                               json_object_new_boolean(entry->note.capabilities & (uint32_t)bit));
    return object;
}

/* What it hides, nearest first. */
static struct json_object *shadows_array(const struct registry_entry *entry)
{
    struct json_object *array = json_object_new_array();

    for (const struct registry_entry *hidden = entry->shadows; hidden; hidden = hidden->shadows) {
        struct json_object *object = json_object_new_object();

        json_object_object_add(object, "source", json_object_new_string(registry_source_name(hidden->source)));
        json_object_object_add(object, "path", json_text(hidden->path));
        json_object_array_add(array, object);
    }
    return array;
}

/* The words of a blank-separated list. */
static struct json_object *words_array(const char *list)
{
    struct json_object *array = json_object_new_array();

    for (const char *at = list ? list : ""; *at;) {
        at += strspn(at, " ");
        size_t length = strcspn(at, " ");

        if (length)
            json_object_array_add(array, json_bytes(at, length));
        at += length;
    }
    return array;
}

static struct json_object *entry_object(const struct context *context, const struct registry_entry *entry, bool named)
{
    struct json_object *object = json_object_new_object();
    AUTO_FREE char *reason = readiness_check(context->sandlot, entry, named);

    json_object_object_add(object, "name", json_text(entry->name));
    json_object_object_add(object, "source", json_object_new_string(registry_source_name(entry->source)));
    json_object_object_add(object, "path", json_text(entry->path));
    json_object_object_add(object, "symbol", json_text(entry->symbol));
    json_object_object_add(object, "shadows", shadows_array(entry));
    json_object_object_add(object, "ready", json_object_new_boolean(!reason));
    json_object_object_add(object, "reason", json_text(reason));
    json_object_object_add(object, "description", json_text(entry->note.description));
    json_object_object_add(object, "working_dir", json_text(entry->working_dir));
    json_object_object_add(object, "package", json_text(entry->install_hint));
    json_object_object_add(object, "capabilities", capabilities_object(entry));
    json_object_object_add(object, "credentials", words_array(entry->note.credentials));
    json_object_object_add(object, "environment", words_array(entry->note.environment));
    json_object_object_add(object, "project", words_array(entry->note.project));
    json_object_object_add(object, "reads", words_array(entry->note.reads));
    json_object_object_add(object, "writes", words_array(entry->note.writes));
    json_object_object_add(object, "inside_network", json_text(entry->note.inside_network));
    json_object_object_add(object, "parameters", parameters_array(entry));
    return object;
}

/* ---- for people ---- */

/* What a listing shows: what --sandbox can mean, and files that nobody can use. */
static bool shown(const struct registry_entry *entry)
{
    return entry->winner || !entry->name;
}

static void print_table(const struct context *context, const struct registry_entry *const *entries, size_t count)
{
    static const char *const head[] = {"NAME", "SOURCE", "READY", "DESCRIPTION"};
    struct table table = {.columns = sizeof(head) / sizeof(head[0])};

    table_add(&table, head);
    for (size_t i = 0; i < count; i++) {
        const struct registry_entry *entry = entries[i];

        if (!shown(entry))
            continue;
        AUTO_FREE char *reason = readiness_check(context->sandlot, entry, false);
        /* A file that cannot be used need not say again where it lies if its reason begins so. */
        bool named = entry->name || !entry->path || (reason && strstr(reason, entry->path));
        AUTO_FREE char *text = reason && !named ? text_format("%s: %s", entry->path, reason) : NULL;

        table_add(&table, (const char *[]){entry->name, registry_source_name(entry->source), reason ? "no" : "yes",
                                           text     ? text
                                           : reason ? reason
                                                    : entry->note.description});
    }
    table_print(&table);
}

static void print_field(const char *label, const char *value)
{
    AUTO_FREE char *clean = value && *value ? text_visible(value) : NULL;

    if (clean)
        output_format("%-14s%s\n", label, clean);
}

static void print_parameters(const struct registry_entry *entry)
{
    static const char *const head[] = {"  PARAMETER", "TYPE", "DEFAULT", "MEANING"};
    struct table table = {.columns = sizeof(head) / sizeof(head[0])};
    struct json_object *array = parameters_array(entry);

    table_add(&table, head);
    for (size_t i = 0; i < json_object_array_length(array); i++) {
        struct json_object *object = json_object_array_get_idx(array, i);
        struct json_object *value = json_object_object_get(object, "default");
        bool required = json_object_get_boolean(json_object_object_get(object, "required"));
        bool secret = json_object_get_boolean(json_object_object_get(object, "secret"));
        AUTO_FREE char *name = text_format("  %s", json_object_get_string(json_object_object_get(object, "name")));
        AUTO_FREE char *help = text_format("%s%s%s", json_object_get_string(json_object_object_get(object, "help")),
                                           required ? " (required)" : "", secret ? " (secret)" : "");

        table_add(&table, (const char *[]){name, json_object_get_string(json_object_object_get(object, "type")),
                                           value ? json_object_get_string(value) : NULL, help});
    }
    table_print(&table);
    json_object_put(array);
}

static void print_capabilities(const struct registry_entry *entry)
{
    AUTO_FREE char *words = registry_capability_words(entry);

    print_field("can", words);
}

static void print_details(const struct context *context, const struct registry_entry *entry)
{
    AUTO_FREE char *reason = readiness_check(context->sandlot, entry, true);

    print_field("name", entry->name);
    print_field("description", entry->note.description);
    print_field("source", registry_source_name(entry->source));
    print_field("file", entry->path);
    print_field("symbol", entry->symbol);
    for (const struct registry_entry *hidden = entry->shadows; hidden; hidden = hidden->shadows) {
        AUTO_FREE char *text =
            text_format("%s %s", registry_source_name(hidden->source), hidden->path ? hidden->path : "(not installed)");

        print_field("shadows", text);
    }
    print_field("ready", reason ? "no" : "yes");
    print_field("reason", reason);
    print_field("working dir", entry->working_dir);
    print_field("package", entry->install_hint);
    print_field("needs", entry->needs);
    print_field("credentials", entry->note.credentials);
    print_field("environment", entry->note.environment);
    print_field("project", entry->note.project);
    print_field("reads", entry->note.reads);
    print_field("writes", entry->note.writes);
    print_capabilities(entry);
    AUTO_FREE char *network =
        entry->note.inside_network ? text_format("where nothing is asked: %s", entry->note.inside_network) : NULL;

    print_field("network", network);
    output_format("\n");
    print_parameters(entry);
}

static void note_ignored(const struct context *context)
{
    size_t count = 0;
    const struct registry_ignored *ignored = registry_ignored(context->sandlot->registry, &count);

    for (size_t i = 0; i < count; i++)
        progress_note("Not a provider: %s: %s", ignored[i].path, ignored[i].reason);
}

/* ---- the command ---- */

static int print_one(const struct context *context, const char *name)
{
    struct sandlot_error error = {0};
    const struct registry_entry *entry = registry_find(context->sandlot->registry, name, &error);

    if (!entry) {
        int status = report_error(context->options, &error);

        sandlot_error_clear(&error);
        return status;
    }
    if (context->options->json) {
        struct json_object *object = json_object_new_object();
        struct json_object *array = json_object_new_array();

        json_object_array_add(array, entry_object(context, entry, true));
        json_object_object_add(object, "providers", array);
        output_json(object);
    } else {
        print_details(context, entry);
    }
    return context_status(0);
}

static int print_all(const struct context *context)
{
    size_t count = 0;
    const struct registry_entry *const *entries = registry_entries(context->sandlot->registry, &count);

    note_ignored(context);
    if (!context->options->json) {
        print_table(context, entries, count);
        return context_status(0);
    }
    struct json_object *object = json_object_new_object();
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < count; i++)
        if (shown(entries[i]))
            json_object_array_add(array, entry_object(context, entries[i], false));
    json_object_object_add(object, "providers", array);
    output_json(object);
    return context_status(0);
}

int command_providers(const struct options *options)
{
    struct context context;

    if (options->argument_count && !*options->arguments[0])
        return usage_error(options->command, "the name is empty; 'sandlot providers' lists those there are");
    int status = context_open(&context, options);

    if (status == 0)
        status = options->argument_count ? print_one(&context, options->arguments[0]) : print_all(&context);
    context_close(&context);
    return status;
}

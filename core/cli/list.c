/* sandlot list: the sandboxes of a provider, or of all. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/usage.h"
#include "session/ledger.h"
#include "session/readiness.h"

#include <string.h>

struct list_item {
    char *id; /* NULL: the ledger never heard it */
    char *provider;
    char *state;
    int64_t created_at_ms;
    bool mine;
    char *name; /* NULL: none */
};

struct list {
    struct list_item *items;
    size_t count;
    bool no_memory;
    struct sandlot_error error; /* the first provider that failed */
};

static void add(struct list *list, const char *id, const char *provider, const char *state, int64_t created_at_ms,
                bool mine)
{
    struct list_item *grown = realloc(list->items, (list->count + 1) * sizeof(*grown));

    if (!grown) {
        list->no_memory = true;
        return;
    }
    list->items = grown;
    list->items[list->count++] = (struct list_item){.id = id ? strdup(id) : NULL,
                                                    .provider = strdup(provider),
                                                    .state = strdup(state),
                                                    .created_at_ms = created_at_ms,
                                                    .mine = mine};
}

static bool on_sandbox(void *context, const struct sandlot_listed_sandbox *sandbox)
{
    struct list *list = context;

    add(list, sandbox->id, sandbox->provider, sandbox->state ? sandbox->state : "unknown", sandbox->created_at_ms,
        sandbox->mine);
    return !list->no_memory && !signals_received();
}

/* The item of RECORD's sandbox; NULL: it is not listed. */
static struct list_item *item_of(const struct list *list, const struct ledger_record *record)
{
    for (size_t i = 0; record->id && i < list->count; i++)
        if (list->items[i].id && strcmp(list->items[i].id, record->id) == 0 &&
            strcmp(list->items[i].provider, record->provider) == 0)
            return &list->items[i];
    return NULL;
}

/* What people call them. */
static void add_names(struct list *list)
{
    struct ledger_record **records = NULL;
    size_t count = 0;

    if (ledger_read(&records, &count, NULL) < 0)
        return;
    for (size_t i = 0; i < count; i++) {
        struct list_item *item = records[i]->name ? item_of(list, records[i]) : NULL;

        if (item && !item->name)
            item->name = TAKE(records[i]->name);
    }
    ledger_free_records(records, count);
}

/* What the ledger knows and no provider has named: sandboxes in the making, of providers that cannot be asked, or gone.
 */
static void add_ledger(struct list *list)
{
    struct ledger_record **records = NULL;
    size_t count = 0;

    if (ledger_read(&records, &count, &list->error) < 0)
        return;
    for (size_t i = 0; i < count; i++)
        if (!item_of(list, records[i]))
            add(list, records[i]->id, records[i]->provider,
                !records[i]->id && ledger_owner_alive(records[i]) ? "creating" : "unknown", records[i]->created_at_ms,
                true);
    ledger_free_records(records, count);
}

/* Of --all: a provider that cannot list, or that alone knows the many places of its keys, and has none. */
static bool has_nothing_to_say(const struct context *context, const char *name, const struct sandlot_error *error)
{
    const struct registry_entry *entry = registry_find(context->sandlot->registry, name, NULL);

    return error->code == SANDLOT_CODE_NOT_SUPPORTED ||
           (error->code == SANDLOT_CODE_AUTH && entry && !entry->note.credentials);
}

static void list_provider(const struct context *context, const char *name, struct list *list)
{
    struct sandlot_target target = context_target(context);
    struct sandlot_error error = {0};

    target.provider = name;
    progress_begin("Asking '%s' for its sandboxes", name);
    int outcome = sandlot_list(context->sandlot, &target, on_sandbox, list, &error);

    progress_end();
    if (outcome < 0 && (context->options->given & OPTION_ALL)) {
        if (has_nothing_to_say(context, name, &error)) {
            progress_note("%s", error.message);
            sandlot_error_clear(&error);
        } else {
            progress_line("sandlot: warning: %s", error.message);
        }
    }
    if (outcome < 0 && !error_is_set(&list->error)) {
        list->error = error;
        return;
    }
    sandlot_error_clear(&error);
}

static void list_all(const struct context *context, struct list *list)
{
    size_t count;
    const struct registry_entry *const *entries = registry_entries(context->sandlot->registry, &count);

    for (size_t i = 0; i < count && !signals_received(); i++) {
        if (!entries[i]->winner || !entries[i]->name)
            continue;
        AUTO_FREE char *reason = readiness_check(context->sandlot, entries[i], false);

        if (reason)
            progress_note("Not asking '%s': %s", entries[i]->name, reason);
        else
            list_provider(context, entries[i]->name, list);
    }
    add_ledger(list);
}

static bool has_names(const struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].name)
            return true;
    return false;
}

static void print_table(const struct options *options, const struct list *list)
{
    static const char *const head[] = {"ID", "STATE", "AGE", "PROVIDER", "MINE", "NAME"};
    /* The column of the names is there where one has a name. */
    struct table table = {.columns = sizeof(head) / sizeof(head[0]) - !has_names(list)};

    if (list->count == 0 && !error_is_set(&list->error) && options->verbosity >= 0)
        progress_line("sandlot: there are no sandboxes; 'sandlot create' makes one");
    if (list->count == 0)
        return;
    table_add(&table, head);
    for (size_t i = 0; i < list->count; i++) {
        const struct list_item *item = &list->items[i];
        AUTO_FREE char *age = since_text(item->created_at_ms);

        table_add(&table,
                  (const char *[]){item->id, item->state, age, item->provider, item->mine ? "yes" : "no", item->name});
    }
    table_print(&table);
}

static struct json_object *item_object(const struct list_item *item)
{
    struct json_object *object = json_object_new_object();
    AUTO_FREE char *created = time_text(item->created_at_ms);

    json_object_object_add(object, "id", json_text(item->id));
    json_object_object_add(object, "state", json_text(item->state));
    json_object_object_add(object, "created_at", json_text(created));
    json_object_object_add(object, "provider", json_text(item->provider));
    json_object_object_add(object, "mine", json_object_new_boolean(item->mine));
    if (item->name)
        json_object_object_add(object, "name", json_text(item->name));
    return object;
}

static void print_json(const struct list *list)
{
    struct json_object *object = json_object_new_object();
    struct json_object *sandboxes = json_object_new_array();

    for (size_t i = 0; i < list->count; i++)
        json_object_array_add(sandboxes, item_object(&list->items[i]));
    if (error_is_set(&list->error))
        json_add_error(object, &list->error);
    json_object_object_add(object, "sandboxes", sandboxes);
    json_object_object_add(object, "cursor", NULL);
    output_json(object);
}

/* Nothing is cut short in silence: what could be listed is printed, and what could not decides the exit status. */
static int print_list(const struct options *options, struct list *list)
{
    bool all = options->given & OPTION_ALL;

    if (list->no_memory)
        error_no_memory(&list->error);
    if (error_is_set(&list->error) && (!all || error_exit_status(list->error.code) == 2))
        return report_error(options, &list->error);
    add_names(list);
    if (options->json)
        print_json(list);
    else
        print_table(options, list);
    return error_exit_status(list->error.code);
}

static void clear(struct list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].id);
        free(list->items[i].provider);
        free(list->items[i].state);
        free(list->items[i].name);
    }
    free(list->items);
    sandlot_error_clear(&list->error);
}

int command_list(const struct options *options)
{
    bool all = options->given & OPTION_ALL;
    struct list list = {0};
    struct context context;

    if (all && (options->given & (OPTION_SANDBOX | OPTION_PARAM)))
        return usage_error(options->command, "--all asks every provider and cannot go with --sandbox or --param");
    int status = context_open(&context, options);

    if (status == 0 && all) {
        list_all(&context, &list);
        status = context_status(print_list(options, &list));
    } else if (status == 0 && (status = context_resolve(&context)) == 0) {
        list_provider(&context, context.provider, &list);
        status = context_status(print_list(options, &list));
    }
    clear(&list);
    context_close(&context);
    return status;
}

/* sandlot snapshots: those that a provider has, and their end. */
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/deletion.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/signals.h"

/* ---- list -------------------------------------------------------------------------------------------------------- */

/* What is listed, in the form in which it will be printed. */
struct listing {
    struct json_object *array; /* with --json */
    struct table table;        /* without */
};

static struct json_object *object_of(const struct sandlot_listed_sandbox *snapshot)
{
    struct json_object *object = json_object_new_object();
    AUTO_FREE char *created = time_text(snapshot->created_at_ms);

    json_object_object_add(object, "id", json_text(snapshot->id));
    json_object_object_add(object, "state", json_text(snapshot->state));
    json_object_object_add(object, "created_at", json_text(created));
    return object;
}

static bool add(void *context, const struct sandlot_listed_sandbox *snapshot)
{
    struct listing *listing = context;
    AUTO_FREE char *age = since_text(snapshot->created_at_ms);

    if (listing->array) {
        json_object_array_add(listing->array, object_of(snapshot));
        return !signals_received();
    }
    if (listing->table.count == 0)
        table_add(&listing->table, (const char *[]){"ID", "STATE", "AGE"});
    table_add(&listing->table, (const char *[]){snapshot->id, snapshot->state, age});
    return !signals_received();
}

static void print_list(const struct options *options, struct listing *listing)
{
    if (!listing->array && listing->table.count == 0) {
        if (options->verbosity >= 0)
            progress_line("sandlot: there are no snapshots; 'sandlot snapshot ID' makes one");
        return;
    }
    if (!listing->array) {
        table_print(&listing->table);
        return;
    }
    struct json_object *object = json_object_new_object();

    json_object_object_add(object, "snapshots", listing->array);
    output_json(object);
}

static int list(const struct context *context)
{
    const struct options *options = context->options;
    const struct sandlot_target target = context_target(context);
    struct listing listing = {.array = options->json ? json_object_new_array() : NULL, .table = {.columns = 3}};
    struct sandlot_error error = {0};

    progress_begin("Asking '%s' for its snapshots", context->provider);
    int failed = sandlot_list_snapshots(context_sandlot(context), &target, add, &listing, &error);

    progress_end();
    if (!failed)
        print_list(options, &listing);
    int status = failed ? report_error(options, &error) : 0;

    sandlot_error_clear(&error);
    return status;
}

/* ---- delete and both --------------------------------------------------------------------------------------------- */

int command_snapshots(const struct options *options)
{
    return deletion_with_provider(options, list);
}

int command_snapshots_delete(const struct options *options)
{
    static const struct deletion deletion = {.what = "snapshot", .key = "id", .delete = sandlot_delete_snapshot};

    return deletion_command(options, &deletion);
}

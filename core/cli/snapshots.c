/* sandlot snapshots: those that a provider has, and their end. */
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/signals.h"

#include <string.h>

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

/* ---- delete ------------------------------------------------------------------------------------------------------ */

/* One result; the worst error so far is kept. */
static void delete_one(const struct context *context, const char *name, struct json_object *results,
                       struct sandlot_error *worst)
{
    const struct sandlot_target target = context_target(context);
    struct json_object *result = json_object_new_object();
    struct sandlot_error error = {0};

    progress_begin("Deleting the snapshot %s", name);
    int failed = sandlot_delete_snapshot(context_sandlot(context), &target, name, &error);

    progress_end();
    json_object_object_add(result, "id", json_text(name));
    json_object_object_add(result, "error", failed ? json_object_new_string(sandlot_code_name(error.code)) : NULL);
    if (failed)
        json_object_object_add(result, "message", json_text(error.message));
    json_object_array_add(results, result);
    if (failed && !context->options->json && error_exit_status(error.code) != 2)
        progress_line("sandlot: %s", error.message);
    if (failed && error_exit_status(error.code) > error_exit_status(worst->code)) {
        sandlot_error_clear(worst);
        *worst = error;
        return;
    }
    sandlot_error_clear(&error);
}

static int delete_all(const struct context *context)
{
    const struct options *options = context->options;
    struct json_object *results = json_object_new_array();
    struct sandlot_error worst = {0};

    for (size_t i = 0; i < options->argument_count && !signals_received() && error_exit_status(worst.code) != 2; i++)
        delete_one(context, options->arguments[i], results, &worst);
    int status = error_exit_status(worst.code);

    if (status == 2) {
        report_error(options, &worst);
    } else if (options->json) {
        struct json_object *object = json_object_new_object();

        if (error_is_set(&worst))
            json_add_error(object, &worst);
        json_object_object_add(object, "results", json_object_get(results));
        output_json(object);
    }
    json_object_put(results);
    sandlot_error_clear(&worst);
    return status;
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

static int with_provider(const struct options *options, int (*work)(const struct context *context))
{
    struct context context;
    int status = context_open(&context, options);

    if (status == 0)
        status = context_resolve(&context);
    if (status == 0)
        status = context_status(work(&context));
    context_close(&context);
    return status;
}

int command_snapshots(const struct options *options)
{
    return with_provider(options, list);
}

int command_snapshots_delete(const struct options *options)
{
    for (size_t i = 0; i < options->argument_count; i++)
        if (!*options->arguments[i])
            return usage_error(options->command, "a name is empty; 'sandlot snapshots' prints those there are");
    return with_provider(options, delete_all);
}

/* sandlot snapshots: those that a provider has, and their end. */
#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/deletion.h"
#include "cli/kept_listing.h"
#include "cli/signals.h"

/* ---- list -------------------------------------------------------------------------------------------------------- */

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
    struct kept_listing *listing = context;
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

static int ask(struct sandlot *sandlot, const struct sandlot_target *target, struct kept_listing *listing,
               struct sandlot_error *error)
{
    return sandlot_list_snapshots(sandlot, target, add, listing, error);
}

static int list(const struct context *context)
{
    static const struct kept_kind kind = {
        .what = "snapshots", .advice = "'sandlot snapshot ID' makes one", .columns = 3, .ask = ask};

    return kept_list(context, &kind);
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

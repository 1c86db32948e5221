/* sandlot volumes: those that a provider keeps, and their end. */
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/deletion.h"
#include "cli/kept_listing.h"
#include "cli/signals.h"

#include <inttypes.h>
#include <string.h>

enum { MEBIBYTE = 1 << 20 };

/* ---- list -------------------------------------------------------------------------------------------------------- */

static struct json_object *number(bool known, uint64_t value)
{
    return known ? json_object_new_uint64(value) : NULL;
}

static struct json_object *object_of(const struct sandlot_volume_state *volume)
{
    struct json_object *object = json_object_new_object();
    AUTO_FREE char *used = time_text(volume->used_at_ms);

    json_object_object_add(object, "name", json_text(volume->name));
    json_object_object_add(object, "bytes", number(volume->has_bytes, volume->bytes));
    json_object_object_add(object, "limit_bytes", number(volume->limit_bytes, volume->limit_bytes));
    json_object_object_add(object, "writers", json_object_new_int64(volume->writers));
    json_object_object_add(object, "readers", json_object_new_int64(volume->readers));
    json_object_object_add(object, "used_at", json_text(used));
    return object;
}

/* In tenths of a mebibyte; what is there at all is not shown as nothing. To be freed. */
static char *size_text(bool known, uint64_t bytes)
{
    const uint64_t tenths = bytes / MEBIBYTE * 10 + (bytes % MEBIBYTE * 10 + MEBIBYTE - 1) / MEBIBYTE;

    return known ? text_format("%" PRIu64 ".%" PRIu64 " MiB", tenths / 10, tenths % 10) : strdup("-");
}

static void add_row(struct table *table, const struct sandlot_volume_state *volume)
{
    AUTO_FREE char *size = size_text(volume->has_bytes, volume->bytes);
    AUTO_FREE char *limit = size_text(volume->limit_bytes, volume->limit_bytes);
    AUTO_FREE char *in_use = text_format("%u / %u", volume->writers, volume->readers);
    AUTO_FREE char *used = since_text(volume->used_at_ms);

    if (table->count == 0)
        table_add(table, (const char *[]){"NAME", "SIZE", "LIMIT", "WRITERS / READERS", "LAST USED"});
    table_add(table, (const char *[]){volume->name, size ? size : "", limit ? limit : "", in_use ? in_use : "", used});
}

static bool add(void *context, const struct sandlot_volume_state *volume)
{
    struct kept_listing *listing = context;

    if (listing->array)
        json_object_array_add(listing->array, object_of(volume));
    else
        add_row(&listing->table, volume);
    return !signals_received();
}

static int ask(struct sandlot *sandlot, const struct sandlot_target *target, struct kept_listing *listing,
               struct sandlot_error *error)
{
    return sandlot_list_volumes(sandlot, target, add, listing, error);
}

static int list(const struct context *context)
{
    static const struct kept_kind kind = {
        .what = "volumes", .advice = "'--volume NAME:/PATH' makes one with a sandbox", .columns = 5, .ask = ask};

    return kept_list(context, &kind);
}

/* ---- delete and both --------------------------------------------------------------------------------------------- */

int command_volumes(const struct options *options)
{
    return deletion_with_provider(options, list);
}

int command_volumes_delete(const struct options *options)
{
    static const struct deletion deletion = {.what = "volume", .key = "name", .delete = sandlot_delete_volume};

    return deletion_command(options, &deletion);
}

/* Sandboxes without a session: the public list and delete. */
#include "session/session.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

enum { LIST_MS = 120 * 1000, DELETE_MS = 60 * 1000 };

struct listing {
    const char *provider;
    struct ledger_record **records;
    size_t record_count;
    bool (*each)(void *context, const struct sandlot_listed_sandbox *sandbox);
    void *context;
};

static bool in_ledger(const struct listing *listing, const char *id)
{
    for (size_t i = 0; i < listing->record_count; i++)
        if (listing->records[i]->id && strcmp(listing->records[i]->id, id) == 0 &&
            strcmp(listing->records[i]->provider, listing->provider) == 0)
            return true;
    return false;
}

static enum sandlot_status pass_on(void *context, const struct sandlot_listed *sandbox)
{
    struct listing *listing = context;
    struct sandlot_listed_sandbox public = {.size = sizeof(public),
                                            .id = sandbox->id,
                                            .provider = listing->provider,
                                            .state = sandbox->state ? sandbox->state : "unknown",
                                            .created_at_ms = sandbox->created_at_ms,
                                            .mine = in_ledger(listing, sandbox->id)};

    return listing->each(listing->context, &public) ? SANDLOT_OK : SANDLOT_CANCELLED;
}

static struct provider *load_target(struct sandlot *sandlot, const struct sandlot_target *target,
                                    struct sandlot_error *error)
{
    return runtime_load(sandlot, target ? target->provider : NULL, target ? target->parameters : NULL, true, error);
}

int sandlot_list(struct sandlot *sandlot, const struct sandlot_target *target,
                 bool (*each)(void *context, const struct sandlot_listed_sandbox *sandbox), void *context,
                 struct sandlot_error *error)
{
    struct listing listing = {.each = each, .context = context};
    struct provider *provider = load_target(sandlot, target, error);
    int result = -1;

    if (!provider)
        return -1;
    listing.provider = provider->entry->name;
    if (ledger_read(&listing.records, &listing.record_count, error) == 0)
        result = session_list_at_provider(provider, pass_on, &listing, sandlot_now_ms() + LIST_MS,
                                          cancellation_fd(target ? target->cancellation : NULL), error);
    ledger_free_records(listing.records, listing.record_count);
    provider_unload(provider);
    return result;
}

/* The sandbox is gone: nobody needs to remember it. */
static int forget(const char *provider, const char *id, struct sandlot_error *error)
{
    struct ledger_record **records;
    size_t count;
    int result = 0;

    if (ledger_read(&records, &count, error) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (records[i]->id && strcmp(records[i]->id, id) == 0 && strcmp(records[i]->provider, provider) == 0 &&
            ledger_remove(records[i]->label, error) < 0)
            result = -1;
    ledger_free_records(records, count);
    return result;
}

int sandlot_delete(struct sandlot *sandlot, const struct sandlot_target *target, const char *id,
                   struct sandlot_error *error)
{
    if (!id || !*id)
        return error_set(error, SANDLOT_CODE_USAGE, "the sandbox's id must not be empty");
    struct provider *provider = load_target(sandlot, target, error);

    if (!provider)
        return -1;
    int result = session_delete_at_provider(provider, id, sandlot_now_ms() + DELETE_MS,
                                            cancellation_fd(target ? target->cancellation : NULL), error);

    if (result == 0)
        result = forget(provider->entry->name, id, error);
    provider_unload(provider);
    return result;
}

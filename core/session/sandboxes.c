/* Sandboxes without a session: the public list and delete. */
#include "session/session.h"

#include "base/error.h"
#include "base/log.h"
#include "base/sized.h"
#include "session/readiness.h"

#include <stdlib.h>
#include <string.h>

enum { LIST_MS = 30 * 1000, DELETE_MS = 60 * 1000 };

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

struct provider *session_load_target(struct sandlot *sandlot, const struct sandlot_target *target, int *cancel_fd,
                                     struct sandlot_error *error)
{
    struct sandlot_target own;

    if (sized_read(&own, sizeof(own), target, sizeof(own.size), "sandlot_target", error) < 0)
        return NULL;
    *cancel_fd = cancellation_fd(own.cancellation);
    if (cancellation_check(*cancel_fd, error) < 0)
        return NULL;
    return runtime_load(sandlot, own.provider, own.parameters, true, error);
}

int sandlot_list(struct sandlot *sandlot, const struct sandlot_target *target,
                 bool (*each)(void *context, const struct sandlot_listed_sandbox *sandbox), void *context,
                 struct sandlot_error *error)
{
    struct listing listing = {.each = each, .context = context};
    int cancel_fd;
    struct provider *provider = session_load_target(sandlot, target, &cancel_fd, error);
    int result = -1;

    if (!provider)
        return -1;
    listing.provider = provider->entry->name;
    if (ledger_read(&listing.records, &listing.record_count, error) == 0)
        result = session_list_at_provider(provider, pass_on, &listing, sandlot_now_ms() + LIST_MS, cancel_fd, error);
    ledger_free_records(listing.records, listing.record_count);
    provider_unload(provider);
    return result;
}

/* What is done with the ledger's records of one sandbox. */
typedef int (*record_action)(struct ledger_record *record, const struct provider *provider,
                             struct sandlot_error *error);

static int for_each_record(const struct provider *provider, const char *id, record_action action,
                           struct sandlot_error *error)
{
    struct ledger_record **records;
    size_t count;
    int result = 0;

    if (ledger_read(&records, &count, error) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (records[i]->id && strcmp(records[i]->id, id) == 0 &&
            strcmp(records[i]->provider, provider->entry->name) == 0 && action(records[i], provider, error) < 0)
            result = -1;
    ledger_free_records(records, count);
    return result;
}

/* The intent to delete is on disk before the request goes out: if this process dies on the way, `gc` finishes it. */
static int note_intent(struct ledger_record *record, const struct provider *provider, struct sandlot_error *error)
{
    record->durable = !(provider->table.flags & SANDLOT_ENDS_WITH_POWER);
    ledger_own(record);
    return ledger_write(record, error);
}

/* The sandbox is gone: nobody needs to remember it. */
static int forget(struct ledger_record *record, const struct provider *provider, struct sandlot_error *error)
{
    (void)provider;
    return ledger_remove(record->label, error);
}

int sandlot_delete(struct sandlot *sandlot, const struct sandlot_target *target, const char *id,
                   struct sandlot_error *error)
{
    if (!id || !*id)
        return error_set(error, SANDLOT_CODE_USAGE, "the sandbox's id must not be empty");
    int cancel_fd;
    struct provider *provider = session_load_target(sandlot, target, &cancel_fd, error);

    if (!provider)
        return -1;
    struct sandlot_error no_intent = {0};

    /* A ledger that cannot be written is no reason to leave the sandbox running. */
    if (for_each_record(provider, id, note_intent, &no_intent) < 0)
        log_warning("%s", no_intent.message);
    sandlot_error_clear(&no_intent);
    int result = readiness_check_credentials(provider, error);

    if (result == 0)
        result = session_delete_at_provider(provider, id, sandlot_now_ms() + DELETE_MS, cancel_fd, error);
    if (result == 0)
        result = for_each_record(provider, id, forget, error);
    provider_unload(provider);
    return result;
}

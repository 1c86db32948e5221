/* Sandboxes without a session: list, find by label, delete. */
#include "session/session.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

enum { LIST_MS = 120 * 1000, DELETE_MS = 60 * 1000, MOST_PAGES = 10000 };

/* One listing over all its pages. */
struct pages {
    struct sandlot_listing listing;
    char *cursor; /* of the next page; NULL: none */
    enum sandlot_status (*each)(void *context, const struct sandlot_listed *sandbox);
    void *context;
    bool stopped; /* EACH has had enough */
};

static enum sandlot_status add(const struct sandlot_listing *listing, const struct sandlot_listed *sandbox)
{
    struct pages *pages = listing->context;
    enum sandlot_status status = pages->each(pages->context, sandbox);

    pages->stopped = pages->stopped || status != SANDLOT_OK;
    return status;
}

static void next(const struct sandlot_listing *listing, const char *cursor)
{
    struct pages *pages = listing->context;

    free(pages->cursor);
    pages->cursor = strdup(cursor);
}

static int list_page(struct provider *provider, struct pages *pages, int64_t deadline_ms, int cancel_fd,
                     struct sandlot_error *error)
{
    AUTO_FREE char *cursor = TAKE(pages->cursor);
    struct host_call call;

    host_call_init(&call, provider->entry->name, provider->environment, deadline_ms, cancel_fd);
    enum sandlot_status status = provider->table.list(&call.call, provider->instance, cursor, &pages->listing);
    int failed = pages->stopped ? 0 : host_call_error(&call, status, "cannot list sandboxes", true, error);

    host_call_clear(&call);
    return failed;
}

/* Calls EACH for every sandbox of every page until it returns something else than SANDLOT_OK. */
static int list_all(struct provider *provider,
                    enum sandlot_status (*each)(void *context, const struct sandlot_listed *sandbox), void *context,
                    int64_t deadline_ms, int cancel_fd, struct sandlot_error *error)
{
    struct pages pages = {.each = each, .context = context};
    int result = 0;

    if (!provider->table.list)
        return error_set(error, SANDLOT_CODE_NOT_SUPPORTED, "%s: this provider cannot list its sandboxes",
                         provider->entry->name);
    pages.listing = (struct sandlot_listing){sizeof(pages.listing), &pages, add, next};
    for (int page = 0; page < MOST_PAGES; page++) {
        result = list_page(provider, &pages, deadline_ms, cancel_fd, error);
        if (result < 0 || pages.stopped || !pages.cursor)
            break;
    }
    free(pages.cursor);
    return result;
}

struct label_search {
    const char *label;
    char *id;
};

static enum sandlot_status match_label(void *context, const struct sandlot_listed *sandbox)
{
    struct label_search *search = context;

    if (!sandbox->run_label || strcmp(sandbox->run_label, search->label) != 0)
        return SANDLOT_OK;
    search->id = strdup(sandbox->id);
    return SANDLOT_CANCELLED; /* found: no more pages */
}

int session_find_by_label(struct provider *provider, const char *label, int64_t deadline_ms, char **id,
                          struct sandlot_error *error)
{
    struct label_search search = {.label = label};

    if (list_all(provider, match_label, &search, deadline_ms, -1, error) < 0)
        return -1;
    *id = search.id;
    return search.id ? 1 : 0;
}

/* ---- the public calls ---- */

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
        result = list_all(provider, pass_on, &listing, sandlot_now_ms() + LIST_MS,
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

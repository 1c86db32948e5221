/* Calls to a provider that need no session: delete with patience, list over all pages, find by label. */
#include "session/session.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "session/paging.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_PAUSE_MS = 500, LONGEST_PAUSE_MS = 8000, TRIES = 6 };

static enum sandlot_status delete_once(struct provider *provider, const char *id, int64_t deadline_ms, int cancel_fd,
                                       struct sandlot_error *error)
{
    struct host_call call;

    host_call_init(&call, provider->entry->name, provider->environment, deadline_ms, cancel_fd);
    enum sandlot_status status = provider->table.delete_sandbox(&call.call, provider->instance, id);

    if (status == SANDLOT_NOT_FOUND)
        status = SANDLOT_OK;
    host_call_error(&call, status, "cannot delete the sandbox", true, error);
    host_call_clear(&call);
    return status;
}

int session_delete_at_provider(struct provider *provider, const char *id, int64_t deadline_ms, int cancel_fd,
                               struct sandlot_error *error)
{
    int pause_ms = FIRST_PAUSE_MS;

    for (int left = TRIES;; left--) {
        struct pollfd cancel = {cancel_fd, POLLIN, 0};
        struct sandlot_error why = {0};
        enum sandlot_status status = delete_once(provider, id, deadline_ms, cancel_fd, &why);
        bool again = status == SANDLOT_UNAVAILABLE && left > 1 && sandlot_now_ms() + pause_ms < deadline_ms;

        if (again)
            poll(&cancel, 1, pause_ms); /* a signal may cut the pause short, but not the trying */
        if (again && cancellation_check(cancel_fd, error) < 0)
            again = false;
        if (status != SANDLOT_OK && !again)
            error_set(error, why.code, "%s", why.message);
        sandlot_error_clear(&why);
        if (!again)
            return status == SANDLOT_OK ? 0 : -1;
        pause_ms = pause_ms * 2 < LONGEST_PAUSE_MS ? pause_ms * 2 : LONGEST_PAUSE_MS;
    }
}

/* One of the provider's functions that list. */
typedef enum sandlot_status (*list_function)(struct sandlot_call *call, void *provider, const char *cursor,
                                             const struct sandlot_listing *listing);

struct listing {
    struct paging paging; /* first */
    list_function list;
    enum sandlot_status (*each)(void *context, const struct sandlot_listed *sandbox);
    void *context;
};

/* What every provider of ABI 1 tells of a sandbox. */
#define SMALLEST_LISTED (offsetof(struct sandlot_listed, run_label) + sizeof(((struct sandlot_listed *)0)->run_label))

static enum sandlot_status add(const struct sandlot_listing *listing, const struct sandlot_listed *sandbox)
{
    struct listing *asked = listing->context;

    if (!sandbox || sandbox->size < SMALLEST_LISTED || !sandbox->id || !*sandbox->id)
        return SANDLOT_INTERNAL; /* a listing that leaves ids out is not to be trusted with what to delete */
    enum sandlot_status status = asked->each(asked->context, sandbox);

    asked->paging.stopped = asked->paging.stopped || status != SANDLOT_OK;
    return status;
}

static void next(const struct sandlot_listing *listing, const char *cursor)
{
    paging_next(listing->context, cursor);
}

static enum sandlot_status list_page(struct paging *paging, struct sandlot_call *call, struct provider *provider,
                                     const char *cursor)
{
    const struct listing *asked = (struct listing *)paging;
    const struct sandlot_listing listing = {sizeof(listing), paging, add, next};

    return asked->list(call, provider->instance, cursor, &listing);
}

int session_list_at_provider(struct provider *provider,
                             enum sandlot_status (*each)(void *context, const struct sandlot_listed *sandbox),
                             void *context, int64_t deadline_ms, int cancel_fd, struct sandlot_error *error)
{
    struct listing listing = {{.what = "sandboxes", .page = list_page}, provider->table.list, each, context};

    if (!provider->table.list)
        return error_set(error, SANDLOT_CODE_NOT_SUPPORTED,
                         "%s: this provider cannot list its sandboxes; 'sandlot list --all' prints those that you made",
                         provider->entry->name);
    return paging_run(&listing.paging, provider, deadline_ms, cancel_fd, error);
}

int session_list_snapshots_at_provider(struct provider *provider,
                                       enum sandlot_status (*each)(void *context, const struct sandlot_listed *item),
                                       void *context, int64_t deadline_ms, int cancel_fd, struct sandlot_error *error)
{
    struct listing listing = {{.what = "snapshots", .page = list_page}, provider->table.list_snapshots, each, context};

    return paging_run(&listing.paging, provider, deadline_ms, cancel_fd, error);
}

struct label_search {
    const char *label;
    bool found;
    char *id;
};

static enum sandlot_status match_label(void *context, const struct sandlot_listed *sandbox)
{
    struct label_search *search = context;

    if (!sandbox->run_label || strcmp(sandbox->run_label, search->label) != 0)
        return SANDLOT_OK;
    search->found = true;
    search->id = strdup(sandbox->id);
    return SANDLOT_CANCELLED; /* found: no more pages */
}

int session_find_by_label(struct provider *provider, const char *label, int64_t deadline_ms, int cancel_fd, char **id,
                          struct sandlot_error *error)
{
    struct label_search search = {.label = label};

    if (session_list_at_provider(provider, match_label, &search, deadline_ms, cancel_fd, error) < 0)
        return -1;
    if (search.found && !search.id)
        return error_no_memory(error);
    *id = search.id;
    return search.found ? 1 : 0;
}

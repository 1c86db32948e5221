/* Calls to a provider that need no session: delete with patience, list over all pages, find by label. */
#include "session/session.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_PAUSE_MS = 500, LONGEST_PAUSE_MS = 8000, TRIES = 6, MOST_PAGES = 10000 };

int session_delete_at_provider(struct provider *provider, const char *id, int64_t deadline_ms, int cancel_fd,
                               struct sandlot_error *error)
{
    int pause_ms = FIRST_PAUSE_MS;

    for (int left = TRIES;; left--) {
        struct host_call call;
        struct sandlot_error why = {0};

        host_call_init(&call, provider->entry->name, provider->environment, deadline_ms, cancel_fd);
        enum sandlot_status status = provider->table.delete_sandbox(&call.call, provider->instance, id);

        host_call_error(&call, status, "cannot delete the sandbox", true, &why);
        host_call_clear(&call);
        if (status == SANDLOT_OK || status == SANDLOT_NOT_FOUND) {
            sandlot_error_clear(&why);
            return 0;
        }
        struct pollfd cancel = {cancel_fd, POLLIN, 0};
        bool again = status == SANDLOT_UNAVAILABLE && left > 1 && sandlot_now_ms() + pause_ms < deadline_ms;

        /* A signal may cut the pause short, but not the trying. */
        if (again && poll(&cancel, 1, pause_ms) <= 0) {
            sandlot_error_clear(&why);
            pause_ms = pause_ms * 2 < LONGEST_PAUSE_MS ? pause_ms * 2 : LONGEST_PAUSE_MS;
            continue;
        }
        error_set(error, why.code, "%s", why.message);
        sandlot_error_clear(&why);
        return -1;
    }
}

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

int session_list_at_provider(struct provider *provider,
                             enum sandlot_status (*each)(void *context, const struct sandlot_listed *sandbox),
                             void *context, int64_t deadline_ms, int cancel_fd, struct sandlot_error *error)
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

    if (session_list_at_provider(provider, match_label, &search, deadline_ms, -1, error) < 0)
        return -1;
    *id = search.id;
    return search.id ? 1 : 0;
}

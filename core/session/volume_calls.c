/* The volumes that a provider keeps, and their end, without a session. */
#include "base/cleanup.h"
#include "base/error.h"
#include "session/lifecycle.h"
#include "session/session.h"
#include "session/volumes.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PAGES = 10000 };

/* One listing over all its pages. */
struct pages {
    struct sandlot_volume_listing listing;
    char *cursor; /* of the next page; NULL: none */
    bool (*each)(void *context, const struct sandlot_volume_state *volume);
    void *context;
    bool stopped;   /* EACH has had enough */
    bool no_memory; /* there is a next page, but its cursor could not be kept */
};

/* What every provider with volumes tells of one. */
#define SMALLEST_LISTED \
    (offsetof(struct sandlot_listed_volume, used_at_ms) + sizeof(((struct sandlot_listed_volume *)0)->used_at_ms))

static enum sandlot_status add(const struct sandlot_volume_listing *listing, const struct sandlot_listed_volume *volume)
{
    struct pages *pages = listing->context;

    if (!volume || volume->size < SMALLEST_LISTED || !volume->name || !*volume->name)
        return SANDLOT_INTERNAL;
    const bool known = volume->bytes != UINT64_MAX;
    const struct sandlot_volume_state state = {.size = sizeof(state),
                                               .name = volume->name,
                                               .has_bytes = known,
                                               .bytes = known ? volume->bytes : 0,
                                               .limit_bytes = volume->limit_bytes,
                                               .writers = volume->writers,
                                               .readers = volume->readers,
                                               .used_at_ms = volume->used_at_ms};

    pages->stopped = !pages->each(pages->context, &state);
    return pages->stopped ? SANDLOT_CANCELLED : SANDLOT_OK;
}

static void next(const struct sandlot_volume_listing *listing, const char *cursor)
{
    struct pages *pages = listing->context;

    free(pages->cursor);
    pages->cursor = cursor ? strdup(cursor) : NULL;
    pages->no_memory = cursor && !pages->cursor;
}

static int list_page(struct provider *provider, struct pages *pages, int64_t deadline_ms, int cancel_fd,
                     struct sandlot_error *error)
{
    AUTO_FREE char *cursor = TAKE(pages->cursor);
    struct host_call call;

    host_call_init(&call, provider->entry->name, provider->environment, deadline_ms, cancel_fd);
    enum sandlot_status status = provider->table.list_volumes(&call.call, provider->instance, cursor, &pages->listing);
    int failed = pages->stopped ? 0 : host_call_error(&call, status, "cannot list volumes", true, error);

    host_call_clear(&call);
    return !failed && pages->no_memory ? error_no_memory(error) : failed;
}

static int list_pages(struct provider *provider, struct pages *pages, int cancel_fd, struct sandlot_error *error)
{
    const int64_t deadline_ms = sandlot_now_ms() + LIFECYCLE_MS;
    int result = 0;
    int page = 0;

    pages->listing = (struct sandlot_volume_listing){sizeof(pages->listing), pages, add, next};
    do
        result = list_page(provider, pages, deadline_ms, cancel_fd, error);
    while (result == 0 && !pages->stopped && pages->cursor && ++page < MOST_PAGES);
    free(pages->cursor);
    if (page == MOST_PAGES)
        return error_set(error, SANDLOT_CODE_PROVIDER_ERROR,
                         "%s: the list of volumes has no end (%d pages); report this to the provider's author",
                         provider->entry->name, MOST_PAGES);
    return result;
}

int sandlot_list_volumes(struct sandlot *sandlot, const struct sandlot_target *target,
                         bool (*each)(void *context, const struct sandlot_volume_state *volume), void *context,
                         struct sandlot_error *error)
{
    struct pages pages = {.each = each, .context = context};
    int cancel_fd;
    struct provider *provider = session_load_target(sandlot, target, &cancel_fd, error);

    if (!provider)
        return -1;
    int result = provider->table.list_volumes
                     ? list_pages(provider, &pages, cancel_fd, error)
                     : lifecycle_unsupported(sandlot, provider, CAPABILITY_VOLUMES, "list volumes", error);

    provider_unload(provider);
    return result;
}

static int delete_volume(struct provider *provider, const char *name, int cancel_fd, struct sandlot_error *error)
{
    struct host_call call;

    host_call_init(&call, provider->entry->name, provider->environment, sandlot_now_ms() + LIFECYCLE_MS, cancel_fd);
    enum sandlot_status status = provider->table.delete_volume(&call.call, provider->instance, name);
    int result = host_call_error(&call, status == SANDLOT_NOT_FOUND ? SANDLOT_OK : status, "cannot delete the volume",
                                 true, error);

    host_call_clear(&call);
    return result;
}

int sandlot_delete_volume(struct sandlot *sandlot, const struct sandlot_target *target, const char *name,
                          struct sandlot_error *error)
{
    const char *problem = name ? volume_name_problem(name) : "is missing";
    int cancel_fd;

    if (problem)
        return error_set(error, SANDLOT_CODE_USAGE, "the volume's name %s", problem);
    struct provider *provider = session_load_target(sandlot, target, &cancel_fd, error);

    if (!provider)
        return -1;
    int result = provider->table.delete_volume
                     ? delete_volume(provider, name, cancel_fd, error)
                     : lifecycle_unsupported(sandlot, provider, CAPABILITY_VOLUMES, "delete volumes", error);

    provider_unload(provider);
    return result;
}

/* The volumes that a provider keeps, and their end, without a session. */
#include "base/error.h"
#include "session/lifecycle.h"
#include "session/paging.h"
#include "session/session.h"
#include "session/volumes.h"

#include <stdlib.h>
#include <string.h>

struct listing {
    struct paging paging; /* first */
    bool (*each)(void *context, const struct sandlot_volume_state *volume);
    void *context;
};

/* What every provider with volumes tells of one. */
#define SMALLEST_LISTED \
    (offsetof(struct sandlot_listed_volume, used_at_ms) + sizeof(((struct sandlot_listed_volume *)0)->used_at_ms))

static enum sandlot_status add(const struct sandlot_volume_listing *listing, const struct sandlot_listed_volume *volume)
{
    struct listing *asked = listing->context;

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

    asked->paging.stopped = !asked->each(asked->context, &state);
    return asked->paging.stopped ? SANDLOT_CANCELLED : SANDLOT_OK;
}

static void next(const struct sandlot_volume_listing *listing, const char *cursor)
{
    paging_next(listing->context, cursor);
}

static enum sandlot_status list_page(struct paging *paging, struct sandlot_call *call, struct provider *provider,
                                     const char *cursor)
{
    const struct sandlot_volume_listing listing = {sizeof(listing), paging, add, next};

    return provider->table.list_volumes(call, provider->instance, cursor, &listing);
}

int sandlot_list_volumes(struct sandlot *sandlot, const struct sandlot_target *target,
                         bool (*each)(void *context, const struct sandlot_volume_state *volume), void *context,
                         struct sandlot_error *error)
{
    struct listing listing = {{.what = "volumes", .page = list_page}, each, context};
    int cancel_fd;
    struct provider *provider = session_load_target(sandlot, target, &cancel_fd, error);

    if (!provider)
        return -1;
    int result = provider->table.list_volumes
                     ? paging_run(&listing.paging, provider, sandlot_now_ms() + LIFECYCLE_MS, cancel_fd, error)
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

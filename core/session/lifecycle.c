/* Pausing, resuming and snapshots, without a session. */
#include "session/lifecycle.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "session/readiness.h"
#include "session/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { MOST_ID_BYTES = 4096, INVENTED_NAME_SIZE = sizeof("sandlot-12345678") };

/* ---- what a provider can ----------------------------------------------------------------------------------------- */

char *lifecycle_who_can(const struct sandlot *sandlot, enum capability capability)
{
    size_t count;
    const struct registry_entry *const *entries = registry_entries_quietly(sandlot->registry, &count);
    char *names = NULL;

    for (size_t i = 0; i < count; i++)
        if (entries[i]->winner && entries[i]->name && !entries[i]->problem &&
            (entries[i]->note.capabilities & capability))
            text_append(&names, "%s%s", names ? ", " : "", entries[i]->name);
    return names;
}

int lifecycle_unsupported(const struct sandlot *sandlot, const struct provider *provider, enum capability capability,
                          const char *what, struct sandlot_error *error)
{
    AUTO_FREE char *names = lifecycle_who_can(sandlot, capability);

    if (names)
        return error_set(error, SANDLOT_CODE_NOT_SUPPORTED, "%s cannot %s; of the providers here these can: %s",
                         provider->entry->name, what, names);
    return error_set(error, SANDLOT_CODE_NOT_SUPPORTED, "%s cannot %s, and no other provider here can",
                     provider->entry->name, what);
}

struct provider *lifecycle_load(struct sandlot *sandlot, const struct sandlot_target *target, const char *id,
                                const char *what, int *cancel_fd, struct sandlot_error *error)
{
    if (id && *id)
        return session_load_target(sandlot, target, cancel_fd, error);
    error_set(error, SANDLOT_CODE_USAGE, "the %s must not be empty", what);
    return NULL;
}

/* ---- pause and resume -------------------------------------------------------------------------------------------- */

typedef enum sandlot_status (*id_function)(struct sandlot_call *call, void *provider, const char *id);

static int call_with_id(struct provider *provider, id_function function, const char *id, int cancel_fd,
                        const char *what, struct sandlot_error *error)
{
    struct host_call call;

    if (readiness_check_credentials(provider, error) < 0)
        return -1;
    host_call_init(&call, provider->entry->name, provider->environment, sandlot_now_ms() + LIFECYCLE_MS, cancel_fd);
    int result = host_call_error(&call, function(&call.call, provider->instance, id), what, true, error);

    host_call_clear(&call);
    return result;
}

int sandlot_pause(struct sandlot *sandlot, const struct sandlot_target *target, const char *id,
                  struct sandlot_error *error)
{
    int cancel_fd;
    struct provider *provider = lifecycle_load(sandlot, target, id, "sandbox's id", &cancel_fd, error);

    if (!provider)
        return -1;
    int result = provider->table.pause
                     ? call_with_id(provider, provider->table.pause, id, cancel_fd, "cannot pause the sandbox", error)
                     : lifecycle_unsupported(sandlot, provider, CAPABILITY_PAUSE, "pause its sandboxes", error);

    provider_unload(provider);
    return result;
}

int sandlot_resume(struct sandlot *sandlot, const struct sandlot_target *target, const char *id,
                   struct sandlot_error *error)
{
    int cancel_fd;
    struct provider *provider = lifecycle_load(sandlot, target, id, "sandbox's id", &cancel_fd, error);

    if (!provider)
        return -1;
    int result =
        provider->table.resume
            ? call_with_id(provider, provider->table.resume, id, cancel_fd, "cannot resume the sandbox", error)
            : lifecycle_unsupported(sandlot, provider, CAPABILITY_PAUSE, "pause and resume its sandboxes", error);

    provider_unload(provider);
    return result;
}

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

struct text_sink {
    struct sandlot_sink sink;
    char text[MOST_ID_BYTES];
    size_t length;
};

static enum sandlot_status take_text(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct text_sink *to = sink->context;

    if (length >= sizeof(to->text) - to->length)
        return SANDLOT_EXHAUSTED;
    memcpy(to->text + to->length, bytes, length);
    to->length += length;
    return SANDLOT_OK;
}

/* "sandlot-" and eight digits: nobody has that yet. */
static int invent_name(char name[INVENTED_NAME_SIZE], struct sandlot_error *error)
{
    uint32_t number;

    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        return error_set(error, SANDLOT_CODE_INTERNAL_ERROR, "there are no random numbers for a name; give one");
    snprintf(name, INVENTED_NAME_SIZE, "sandlot-%08u", (unsigned)(number % 100000000));
    return 0;
}

/* Which snapshot, or sandbox, has a name. */
struct name_search {
    const char *name;
    char *id;
};

static enum sandlot_status match_name(void *context, const struct sandlot_listed *snapshot)
{
    struct name_search *search = context;
    bool found = strcmp(snapshot->id, search->name) == 0 ||
                 (snapshot->run_label && strcmp(snapshot->run_label, search->name) == 0);

    if (!found)
        return SANDLOT_OK;
    search->id = strdup(snapshot->id);
    return SANDLOT_CANCELLED;
}

static int delete_snapshot(struct provider *provider, const char *name, int cancel_fd, struct sandlot_error *error)
{
    struct sandlot_error why = {0};
    int result =
        call_with_id(provider, provider->table.delete_snapshot, name, cancel_fd, "cannot delete the snapshot", &why);

    if (result < 0 && why.code == SANDLOT_CODE_SANDBOX_NOT_FOUND)
        result = 0;
    if (result < 0)
        error_set(error, why.code, "%s", why.message);
    sandlot_error_clear(&why);
    return result;
}

static int attach_briefly(struct provider *provider, const char *id, int cancel_fd, struct sandlot_error *error)
{
    const struct sandlot_create request = {.size = sizeof(request), .sandbox_id = id};
    void *sandbox = NULL;
    struct host_call call;

    host_call_init(&call, provider->entry->name, provider->environment, sandlot_now_ms() + LIFECYCLE_MS, cancel_fd);
    int result =
        host_call_error(&call, provider->table.get_or_create(&call.call, provider->instance, &request, &sandbox),
                        "cannot make a snapshot of the sandbox", true, error);

    host_call_clear(&call);
    if (result == 0)
        provider->table.release(provider->instance, sandbox);
    return result;
}

/*
 * A mistyped id must not cost the snapshot that is to be replaced. What is not listed may have another name still, and
 * only who is not listed is attached to: with some vendors that ends a pause.
 */
static int require_sandbox(struct provider *provider, const char *id, int cancel_fd, struct sandlot_error *error)
{
    struct name_search search = {.name = id};
    const int64_t deadline_ms = sandlot_now_ms() + LIFECYCLE_MS;
    int result = provider->table.list
                     ? session_list_at_provider(provider, match_name, &search, deadline_ms, cancel_fd, error)
                     : 0;
    AUTO_FREE char *found = search.id;

    return result < 0 || found ? result : attach_briefly(provider, id, cancel_fd, error);
}

/* No snapshot may have NAME already; with REPLACE one that does goes, for one of sandbox SANDBOX_ID. */
static int make_room(struct provider *provider, const char *sandbox_id, const char *name, bool replace, int cancel_fd,
                     struct sandlot_error *error)
{
    struct name_search search = {.name = name};

    if (!provider->table.list_snapshots)
        return 0;
    int result = session_list_snapshots_at_provider(provider, match_name, &search, sandlot_now_ms() + LIFECYCLE_MS,
                                                    cancel_fd, error);
    AUTO_FREE char *id = search.id;

    if (result < 0 || !id)
        return result;
    if (replace && provider->table.delete_snapshot)
        return require_sandbox(provider, sandbox_id, cancel_fd, error) < 0
                   ? -1
                   : delete_snapshot(provider, id, cancel_fd, error);
    return error_set(error, SANDLOT_CODE_CONFLICT,
                     "%s has a snapshot called %s already; take another name, or --replace it", provider->entry->name,
                     name);
}

/* What is to be kept of which sandbox. */
struct wanted_snapshot {
    const char *id;
    const char *name; /* NULL: one is made up */
    bool replace;
    bool with_base;
};

static int call_snapshot(struct provider *provider, const struct wanted_snapshot *wanted, const char *name,
                         int cancel_fd, char **use, struct sandlot_error *error)
{
    struct text_sink result = {.sink = {.size = sizeof(result.sink), .context = &result, .write = take_text}};
    struct host_call call;

    host_call_init(&call, provider->entry->name, provider->environment, sandlot_now_ms() + LIFECYCLE_MS, cancel_fd);
    const struct sandlot_provider *table = &provider->table;
    enum sandlot_status status = (wanted->with_base ? table->snapshot_with_base : table->snapshot)(
        &call.call, provider->instance, wanted->id, name, &result.sink);
    int failed = host_call_error(&call, status, "cannot make a snapshot of the sandbox", true, error);

    host_call_clear(&call);
    if (failed)
        return -1;
    *use = result.length ? strndup(result.text, result.length) : strdup(name);
    return *use ? 0 : error_no_memory(error);
}

static int take_snapshot(struct provider *provider, const struct wanted_snapshot *wanted, int cancel_fd, char **use,
                         struct sandlot_error *error)
{
    const char *name = wanted->name;
    char invented[INVENTED_NAME_SIZE];
    int result =
        name ? make_room(provider, wanted->id, name, wanted->replace, cancel_fd, error) : invent_name(invented, error);

    return result < 0 ? -1 : call_snapshot(provider, wanted, name ? name : invented, cancel_fd, use, error);
}

static int make_snapshot(struct sandlot *sandlot, const struct sandlot_target *target,
                         const struct wanted_snapshot *wanted, char **use, struct sandlot_error *error)
{
    int cancel_fd;

    *use = NULL;
    if (wanted->name && !*wanted->name)
        return error_set(error, SANDLOT_CODE_USAGE, "the snapshot's name must not be empty");
    struct provider *provider = lifecycle_load(sandlot, target, wanted->id, "sandbox's id", &cancel_fd, error);

    if (!provider)
        return -1;
    int result;

    if (!provider->table.snapshot)
        result = lifecycle_unsupported(sandlot, provider, CAPABILITY_SNAPSHOT, "make snapshots", error);
    else if (wanted->with_base && !provider->table.snapshot_with_base)
        result = lifecycle_unsupported(sandlot, provider, CAPABILITY_SNAPSHOT_BASE,
                                       "put the folder that a sandbox began as into a snapshot", error);
    else
        result = take_snapshot(provider, wanted, cancel_fd, use, error);
    provider_unload(provider);
    return result;
}

int sandlot_snapshot(struct sandlot *sandlot, const struct sandlot_target *target, const char *id, const char *name,
                     bool replace, char **use, struct sandlot_error *error)
{
    const struct wanted_snapshot wanted = {.id = id, .name = name, .replace = replace};

    return make_snapshot(sandlot, target, &wanted, use, error);
}

int sandlot_snapshot_with_base(struct sandlot *sandlot, const struct sandlot_target *target, const char *id,
                               const char *name, bool replace, char **use, struct sandlot_error *error)
{
    const struct wanted_snapshot wanted = {.id = id, .name = name, .replace = replace, .with_base = true};

    return make_snapshot(sandlot, target, &wanted, use, error);
}

struct snapshot_listing {
    const char *provider;
    bool (*each)(void *context, const struct sandlot_listed_sandbox *snapshot);
    void *context;
};

static enum sandlot_status pass_on(void *context, const struct sandlot_listed *snapshot)
{
    struct snapshot_listing *listing = context;
    const struct sandlot_listed_sandbox public = {.size = sizeof(public),
                                                  .id = snapshot->id,
                                                  .provider = listing->provider,
                                                  .state = snapshot->state ? snapshot->state : "unknown",
                                                  .created_at_ms = snapshot->created_at_ms};

    return listing->each(listing->context, &public) ? SANDLOT_OK : SANDLOT_CANCELLED;
}

int sandlot_list_snapshots(struct sandlot *sandlot, const struct sandlot_target *target,
                           bool (*each)(void *context, const struct sandlot_listed_sandbox *snapshot), void *context,
                           struct sandlot_error *error)
{
    struct snapshot_listing listing = {.each = each, .context = context};
    int cancel_fd;
    struct provider *provider = session_load_target(sandlot, target, &cancel_fd, error);

    if (!provider)
        return -1;
    listing.provider = provider->entry->name;
    int result = provider->table.list_snapshots
                     ? session_list_snapshots_at_provider(provider, pass_on, &listing, sandlot_now_ms() + LIFECYCLE_MS,
                                                          cancel_fd, error)
                     : lifecycle_unsupported(sandlot, provider, CAPABILITY_SNAPSHOT, "list snapshots", error);

    provider_unload(provider);
    return result;
}

int sandlot_delete_snapshot(struct sandlot *sandlot, const struct sandlot_target *target, const char *name,
                            struct sandlot_error *error)
{
    int cancel_fd;
    struct provider *provider = lifecycle_load(sandlot, target, name, "snapshot's name", &cancel_fd, error);

    if (!provider)
        return -1;
    int result = provider->table.delete_snapshot
                     ? delete_snapshot(provider, name, cancel_fd, error)
                     : lifecycle_unsupported(sandlot, provider, CAPABILITY_SNAPSHOT, "delete snapshots", error);

    provider_unload(provider);
    return result;
}

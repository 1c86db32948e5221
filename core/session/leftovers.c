/*
 * What dead processes left behind. `sandlot gc` deletes all of it; every session does so quietly for the provider
 * that it has loaded anyway, on a thread beside its own work.
 */
#include "session/session.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/stage.h"
#include "base/text.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEFTOVER_MS = 60 * 1000, LOCK_MS = 60 * 1000, SWEEP_GRACE_MS = 2000 };

/*
 * A run may die while its request for a sandbox is under way, and vendors list what they have made a moment later: what
 * is not there may still come. So of a young record nothing is believed at first sight. AgentCore needs 1.7 s at most.
 */
enum { YOUNG_MS = 10 * 60 * 1000, SECOND_LOOK_MS = 2500 };

enum outcome { DELETED, NOT_LISTED_YET, STILL_IN_TIME, FAILED };

/* How long a record is kept that nobody can do anything about, where its sandbox has no hard lifetime. */
#define UNKNOWN_KEPT_MS (INT64_C(30) * 24 * 60 * 60 * 1000)

static bool is_past(int64_t utc_ms)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 > utc_ms;
}

static bool expired(const struct ledger_record *record)
{
    return record->expires_at_ms && is_past(record->expires_at_ms);
}

/* When the record of a sandbox whose id was never heard is given up. */
static int64_t given_up_at_ms(const struct ledger_record *record)
{
    return record->expires_at_ms ? record->expires_at_ms : record->created_at_ms + UNKNOWN_KEPT_MS;
}

char *leftover_advice(const struct ledger_record *record)
{
    const time_t seconds = (time_t)(given_up_at_ms(record) / 1000);
    struct tm parts;
    char date[32];

    gmtime_r(&seconds, &parts);
    strftime(date, sizeof(date), "%Y-%m-%d", &parts);
    return text_format("look for one with the label %s at its vendor, and delete it there; `sandlot gc` names it until "
                       "%s, when it is forgotten",
                       record->label, date);
}

/* Could nobody but the vendor say whether there is a sandbox? */
static bool is_beyond_reach(const struct ledger_record *record, const struct sandlot_error *problem)
{
    return !record->id && problem->code == SANDLOT_CODE_NOT_SUPPORTED;
}

/* The sandbox of a record could not be looked up: PROBLEM becomes what can be done about it. */
static void advise(const struct ledger_record *record, struct sandlot_error *problem)
{
    AUTO_FREE char *advice = is_beyond_reach(record, problem) ? leftover_advice(record) : NULL;

    if (!advice)
        return;
    sandlot_error_clear(problem);
    error_set(problem, SANDLOT_CODE_NOT_SUPPORTED,
              "its id was never heard, and this provider cannot list its sandboxes: %s", advice);
}

/* Looks the sandbox of a record without id up by its label. -1: it cannot be told whether there is one, and it is too
 * early to give that up. */
static int find_id(struct provider *provider, struct ledger_record *record, int64_t deadline_ms, int cancel_fd,
                   struct sandlot_error *error)
{
    if (record->id ||
        (provider && session_find_by_label(provider, record->label, deadline_ms, cancel_fd, &record->id, error) >= 0))
        return 0;
    if (is_past(given_up_at_ms(record))) {
        sandlot_error_clear(error);
        return 0;
    }
    advise(record, error);
    return -1;
}

static bool is_abandoned(const struct ledger_record *record)
{
    return !record->kept && !ledger_owner_alive(record);
}

/*
 * The clock that says so may have been set. A provider of this machine goes by one that nobody sets, and ends its
 * sandboxes in time by itself. 1: the sandbox of a record that has expired is still there; 0; -1: it cannot be told.
 */
static int is_in_time(struct provider *provider, const struct ledger_record *record, int64_t deadline_ms, int cancel_fd,
                      struct sandlot_error *error)
{
    AUTO_FREE char *id = NULL;

    if (!provider || !(provider->table.flags & SANDLOT_ENDS_WITH_POWER) || !provider->table.list ||
        is_abandoned(record))
        return 0;
    return session_find_by_label(provider, record->label, deadline_ms, cancel_fd, &id, error);
}

/*
 * Deletes the sandbox of a record whose owner is gone, or that has expired, and the record. PROVIDER is NULL, and the
 * error set, if it could not be loaded. FINAL: what is not listed now does not exist, however young the record is.
 */
static enum outcome delete_leftover(struct provider *provider, struct ledger_record *record, bool final, int cancel_fd,
                                    struct sandlot_error *error)
{
    int64_t deadline_ms = sandlot_now_ms() + LEFTOVER_MS;
    const int in_time = is_in_time(provider, record, deadline_ms, cancel_fd, error);

    if (in_time != 0)
        return in_time < 0 ? FAILED : STILL_IN_TIME;
    if (find_id(provider, record, deadline_ms, cancel_fd, error) < 0)
        return FAILED;
    if (!record->id && !final && !is_past(record->created_at_ms + YOUNG_MS))
        return NOT_LISTED_YET;
    if (record->id &&
        (!provider || session_delete_at_provider(provider, record->id, deadline_ms, cancel_fd, error) < 0))
        return FAILED;
    return ledger_remove(record->label, error) < 0 ? FAILED : DELETED;
}

/* ---- gc ---- */

/* Loads the provider of a record as that run had it. */
static struct provider *load_for(struct sandlot *sandlot, const struct ledger_record *record,
                                 struct sandlot_error *error)
{
    size_t count = record->parameters ? json_object_array_length(record->parameters) : 0;
    AUTO_FREE const char **parameters = calloc(count + 1, sizeof(*parameters));

    if (!parameters) {
        error_no_memory(error);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        parameters[i] = json_object_get_string(json_object_array_get_idx(record->parameters, i));
    return runtime_load(sandlot, record->provider, parameters, true, error);
}

/* The runtime of another --config, where the record's run had one; NULL: it is the same or cannot be read any more. */
static struct sandlot *runtime_of(const struct sandlot *sandlot, const struct ledger_record *record)
{
    if (!record->config_file || (sandlot->config->file && strcmp(record->config_file, sandlot->config->file) == 0))
        return NULL;
    struct sandlot_options options = {.size = sizeof(options), .config_file = record->config_file};

    return sandlot_open(&options, NULL);
}

static enum outcome collect_one(struct sandlot *sandlot, struct ledger_record *record, bool final, int cancel_fd,
                                struct sandlot_error *error)
{
    struct sandlot *other = runtime_of(sandlot, record);
    struct provider *provider = load_for(other ? other : sandlot, record, error);
    enum outcome outcome = delete_leftover(provider, record, final, cancel_fd, error);

    provider_unload(provider);
    sandlot_close(other);
    return outcome;
}

static bool is_leftover(const struct ledger_record *record)
{
    return expired(record) || is_abandoned(record);
}

/*
 * The same for a record that was read some time ago: its owner may have left the sandbox on purpose and ended since, or
 * told its id. Once the owner is dead nobody changes the record any more, so what is read then counts.
 */
static bool is_leftover_now(struct ledger_record **record)
{
    if (!is_leftover(*record))
        return false;
    struct ledger_record *fresh = ledger_read_one((*record)->label);

    if (!fresh)
        return false; /* somebody else was quicker */
    ledger_record_free(*record);
    *record = fresh;
    return is_leftover(fresh);
}

/* One `sandlot gc`. */
struct collection {
    struct sandlot *sandlot;
    void (*each)(void *context, const char *provider, const char *id, const struct sandlot_error *problem);
    void *context;
    int cancel_fd;
    struct ledger_record **records;
    size_t count;
    bool *unlisted; /* by record: to be looked at a second time */
    size_t unlisted_count;
    size_t left; /* that could not be deleted */
};

static void collect(struct collection *collection, size_t index, bool final)
{
    struct ledger_record *record = collection->records[index];
    struct sandlot_error problem = {0};
    enum outcome outcome = collect_one(collection->sandlot, record, final, collection->cancel_fd, &problem);

    collection->unlisted[index] = outcome == NOT_LISTED_YET;
    collection->unlisted_count += outcome == NOT_LISTED_YET;
    collection->left += outcome == FAILED && !is_beyond_reach(record, &problem);
    if (collection->each && (outcome == DELETED || outcome == FAILED))
        collection->each(collection->context, record->provider, record->id, outcome == FAILED ? &problem : NULL);
    sandlot_error_clear(&problem);
}

static bool is_cancelled(const struct collection *collection, int wait_ms)
{
    struct pollfd cancel = {collection->cancel_fd, POLLIN, 0};

    return poll(&cancel, 1, wait_ms) > 0;
}

/* All leftovers, and after a while again those that were not listed at first. False: cancelled. */
static bool collect_all(struct collection *collection)
{
    bool cancelled = false;

    for (size_t i = 0; i < collection->count && !cancelled; i++) {
        if (!is_leftover_now(&collection->records[i]))
            continue;
        cancelled = is_cancelled(collection, 0);
        if (!cancelled)
            collect(collection, i, false);
    }
    if (!cancelled && collection->unlisted_count > 0)
        cancelled = is_cancelled(collection, SECOND_LOOK_MS);
    for (size_t i = 0; i < collection->count && !cancelled; i++) {
        if (!collection->unlisted[i])
            continue;
        cancelled = is_cancelled(collection, 0);
        if (!cancelled)
            collect(collection, i, true);
    }
    return !cancelled;
}

int sandlot_collect_garbage(struct sandlot *sandlot,
                            void (*each)(void *context, const char *provider, const char *id,
                                         const struct sandlot_error *problem),
                            void *context, struct sandlot_cancellation *cancellation, struct sandlot_error *error)
{
    struct collection collection = {
        .sandlot = sandlot, .each = each, .context = context, .cancel_fd = cancellation_fd(cancellation)};
    AUTO_CLOSE int lock = ledger_lock("gc", sandlot_now_ms() + LOCK_MS, collection.cancel_fd, error);

    stage_sweep();
    if (lock < 0 || ledger_read(&collection.records, &collection.count, error) < 0)
        return -1;
    AUTO_FREE bool *unlisted = calloc(collection.count + 1, sizeof(*unlisted));
    bool whole = false;

    collection.unlisted = unlisted;
    if (!unlisted)
        error_no_memory(error);
    else if (collect_all(&collection))
        whole = true;
    else
        error_set(error, SANDLOT_CODE_CANCELLED, "cancelled; run `sandlot gc` again for the rest");
    if (whole)
        session_forget_ended(sandlot, collection.records, collection.count, collection.cancel_fd);
    ledger_free_records(collection.records, collection.count);
    if (whole && collection.left)
        error_set(error, SANDLOT_CODE_PROVIDER_ERROR,
                  "%zu leftover sandbox%s could not be deleted; run `sandlot gc` again later", collection.left,
                  collection.left == 1 ? "" : "es");
    return whole && !collection.left ? 0 : -1;
}

/* ---- the quiet sweep ---- */

struct leftovers_sweep {
    struct provider *provider;
    struct ledger_record **records; /* leftovers of this provider only */
    size_t count;
    struct sandlot_cancellation *cancellation;
    pthread_t thread;
    int lock;
};

static void *sweep(void *argument)
{
    struct leftovers_sweep *work = argument;
    struct pollfd cancel = {cancellation_fd(work->cancellation), POLLIN, 0};

    for (size_t i = 0; i < work->count && poll(&cancel, 1, 0) == 0; i++) {
        struct sandlot_error problem = {0};

        if (!is_leftover_now(&work->records[i]))
            continue;
        enum outcome outcome = delete_leftover(work->provider, work->records[i], false, cancel.fd, &problem);

        if (outcome == DELETED)
            log_info("deleted a leftover sandbox of an earlier run (%s %s)", work->provider->entry->name,
                     work->records[i]->id ? work->records[i]->id : work->records[i]->label);
        else if (outcome == FAILED)
            log_info("a leftover of an earlier run is still there: %s", problem.message);
        sandlot_error_clear(&problem);
    }
    return NULL;
}

static void free_sweep(struct leftovers_sweep *work)
{
    if (!work)
        return;
    ledger_free_records(work->records, work->count);
    sandlot_cancellation_free(work->cancellation);
    if (work->lock >= 0)
        close(work->lock);
    free(work);
}

/* Keeps those of WORK->records that this provider can delete now. */
static void keep_own_leftovers(struct leftovers_sweep *work)
{
    size_t kept = 0;

    for (size_t i = 0; i < work->count; i++) {
        if (strcmp(work->records[i]->provider, work->provider->entry->name) == 0 && is_leftover(work->records[i]))
            work->records[kept++] = work->records[i];
        else
            ledger_record_free(work->records[i]);
    }
    work->count = kept;
}

struct leftovers_sweep *leftovers_sweep_start(struct provider *provider)
{
    struct leftovers_sweep *work = calloc(1, sizeof(*work));

    if (!work)
        return NULL;
    work->provider = provider;
    work->lock = -1;
    if (ledger_read_open(&work->records, &work->count, NULL) == 0)
        keep_own_leftovers(work);
    if (work->count > 0) {
        /* Somebody else is at it: leave it to them. */
        work->lock = ledger_lock("gc", 0, -1, NULL);
        work->cancellation = work->lock >= 0 ? sandlot_cancellation_new() : NULL;
        if (work->cancellation && pthread_create(&work->thread, NULL, sweep, work) == 0)
            return work;
    }
    free_sweep(work);
    return NULL;
}

void leftovers_sweep_end(struct leftovers_sweep *work)
{
    struct timespec until;

    if (!work)
        return;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += SWEEP_GRACE_MS / 1000;
    if (pthread_clockjoin_np(work->thread, NULL, CLOCK_MONOTONIC, &until) != 0) {
        sandlot_cancel(work->cancellation);
        pthread_join(work->thread, NULL);
    }
    free_sweep(work);
}

#include "server/holder.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "server/watcher.h"
#include "session/session.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { DELETE_MS = 60 * 1000 };

/* One session and how many calls use it. */
struct lease {
    struct lease *next;
    struct sandlot_session *session;
    unsigned int users;
    bool lost;
};

struct holder {
    const struct holder_options *options;
    struct sandlot_cancellation *cancellation; /* of the making */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct lease *current; /* NULL: there is none yet, or it was lost */
    struct lease *lost;    /* those that are still in use */
    bool wanted;
    bool making;
    bool ending;
    bool guarded; /* the watcher runs */
    unsigned int failures;
    struct sandlot_error failure; /* the last one */
    /* Makes the sandboxes. One thread that lives as long as the server: what a provider starts may be tied to the life
     * of the thread that started it. */
    pthread_t maker;
    bool has_maker;
};

struct holder *holder_new(const struct holder_options *options)
{
    struct holder *holder = calloc(1, sizeof(*holder));

    if (!holder)
        return NULL;
    holder->options = options;
    holder->cancellation = sandlot_cancellation_new();
    if (!holder->cancellation) {
        free(holder);
        return NULL;
    }
    pthread_mutex_init(&holder->lock, NULL);
    pthread_cond_init(&holder->changed, NULL);
    return holder;
}

enum tenure holder_tenure(const struct holder *holder)
{
    if (holder->options->sandbox_id)
        return TENURE_GUEST;
    return holder->options->scope ? TENURE_SCOPE : TENURE_OWNED;
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

static void on_progress(void *context, const char *what, uint64_t done, uint64_t total)
{
    (void)context, (void)done, (void)total;
    log_debug("%s", what);
}

/* What the setup script prints is for nobody: standard output is the protocol's. */
static void on_setup_output(void *context, const void *bytes, size_t length)
{
    (void)context, (void)bytes, (void)length;
}

static struct lease *open_lease(struct holder *holder, struct sandlot_error *error)
{
    const struct holder_options *options = holder->options;
    struct sandlot_session_options request = {.size = sizeof(request),
                                              .provider = options->provider,
                                              .sandbox_id = options->sandbox_id,
                                              .snapshot_name = options->snapshot_name,
                                              .setup_file = options->setup_file,
                                              .scope = options->scope,
                                              .parameters = options->parameters,
                                              .cancellation = holder->cancellation,
                                              .progress = on_progress,
                                              .setup_output = on_setup_output,
                                              .network = options->network,
                                              .allow = options->allow,
                                              .volumes = options->volumes};
    struct lease *lease = calloc(1, sizeof(*lease));

    if (!lease) {
        error_no_memory(error);
        return NULL;
    }
    if (holder_tenure(holder) == TENURE_OWNED && !holder->guarded)
        holder->guarded = watcher_start(options->config_file, options->parameters);
    lease->session = sandlot_session_open(options->sandlot, &request, error);
    if (lease->session) {
        log_info("sandbox %s is ready", sandlot_session_id(lease->session));
        return lease;
    }
    free(lease);
    return NULL;
}

/* With the lock held, which is not held meanwhile. */
static void make(struct holder *holder)
{
    struct sandlot_error error = {0};

    holder->making = true;
    pthread_mutex_unlock(&holder->lock);
    struct lease *lease = open_lease(holder, &error);

    pthread_mutex_lock(&holder->lock);
    holder->making = false;
    holder->wanted = false;
    holder->current = lease;
    if (!lease) {
        sandlot_error_clear(&holder->failure);
        holder->failure = error;
        holder->failures++;
    }
    pthread_cond_broadcast(&holder->changed);
}

static void *make_on_demand(void *argument)
{
    struct holder *holder = argument;

    pthread_mutex_lock(&holder->lock);
    while (!holder->ending) {
        if (holder->wanted && !holder->current)
            make(holder);
        else
            pthread_cond_wait(&holder->changed, &holder->lock);
    }
    pthread_mutex_unlock(&holder->lock);
    return NULL;
}

/* With the lock held. False: there is no thread for it. */
static bool demand(struct holder *holder)
{
    sigset_t all;
    sigset_t old;

    holder->wanted = true;
    pthread_cond_broadcast(&holder->changed);
    if (holder->has_maker)
        return true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    holder->has_maker = pthread_create(&holder->maker, NULL, make_on_demand, holder) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return holder->has_maker;
}

void holder_begin(struct holder *holder)
{
    pthread_mutex_lock(&holder->lock);
    if (!holder->current && !holder->ending)
        demand(holder);
    pthread_mutex_unlock(&holder->lock);
}

/* ---- lending ----------------------------------------------------------------------------------------------------- */

/* With the lock held. */
static struct sandlot_session *wait_for_session(struct holder *holder, const atomic_bool *cancelled,
                                                struct sandlot_error *error)
{
    unsigned int failures = holder->failures;

    while (!holder->current) {
        if (*cancelled || holder->ending) {
            error_set(error, SANDLOT_CODE_CANCELLED, "cancelled while the sandbox was being made");
            return NULL;
        }
        if (holder->failures != failures) {
            error_set(error, holder->failure.code, "%s", holder->failure.message);
            return NULL;
        }
        if (!demand(holder)) {
            error_no_memory(error);
            return NULL;
        }
        pthread_cond_wait(&holder->changed, &holder->lock);
    }
    if (holder->ending) {
        error_set(error, SANDLOT_CODE_CANCELLED, "the server is ending");
        return NULL;
    }
    holder->current->users++;
    return holder->current->session;
}

struct sandlot_session *holder_borrow(struct holder *holder, const atomic_bool *cancelled, struct sandlot_error *error)
{
    pthread_mutex_lock(&holder->lock);
    struct sandlot_session *session = wait_for_session(holder, cancelled, error);

    pthread_mutex_unlock(&holder->lock);
    return session;
}

void holder_lost(struct holder *holder, struct sandlot_session *session)
{
    pthread_mutex_lock(&holder->lock);
    struct lease *lease = holder->current;

    if (lease && lease->session == session && !holder->ending) {
        lease->lost = true;
        lease->next = holder->lost;
        holder->lost = lease;
        holder->current = NULL;
    }
    pthread_mutex_unlock(&holder->lock);
}

/* With the lock held: one user less. The lease to be closed, if this was the last one of a lost sandbox. */
static struct lease *end_use(struct holder *holder, const struct sandlot_session *session)
{
    if (holder->current && holder->current->session == session) {
        holder->current->users--;
        return NULL;
    }
    for (struct lease **at = &holder->lost; *at; at = &(*at)->next) {
        struct lease *lease = *at;

        if (lease->session != session)
            continue;
        if (--lease->users > 0)
            return NULL;
        *at = lease->next;
        return lease;
    }
    return NULL;
}

static void close_lease(struct lease *lease)
{
    struct sandlot_error error = {0};

    if (!lease)
        return;
    if (sandlot_session_close(lease->session, &error) < 0)
        log_warning("%s", error.message);
    sandlot_error_clear(&error);
    free(lease);
}

void holder_give_back(struct holder *holder, struct sandlot_session *session)
{
    pthread_mutex_lock(&holder->lock);
    struct lease *lease = end_use(holder, session);

    pthread_mutex_unlock(&holder->lock);
    close_lease(lease);
}

void holder_wake(struct holder *holder)
{
    pthread_mutex_lock(&holder->lock);
    pthread_cond_broadcast(&holder->changed);
    pthread_mutex_unlock(&holder->lock);
}

bool holder_is_making(struct holder *holder)
{
    pthread_mutex_lock(&holder->lock);
    bool making = holder->making;

    pthread_mutex_unlock(&holder->lock);
    return making;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* Deletes the sandbox of a session that others still use, and settles the ledger; the session stays for them. */
static int delete_sandbox(const struct sandlot_session *session)
{
    struct sandlot_error error = {0};
    int result = session_delete_at_provider(session->provider, session->id, sandlot_now_ms() + DELETE_MS, -1, &error);

    if (result < 0)
        log_warning("%s; sandbox %s is still there: delete it with `sandlot delete --sandbox %s %s`, or later "
                    "`sandlot gc`",
                    error.message, session->id, sandlot_session_provider(session), session->id);
    else if (ledger_remove(session->record->label, &error) < 0)
        log_warning("%s", error.message);
    else
        log_info("sandbox %s is deleted", session->id);
    sandlot_error_clear(&error);
    return result;
}

int holder_delete(struct holder *holder)
{
    pthread_mutex_lock(&holder->lock);
    bool join = holder->has_maker;

    holder->ending = true;
    pthread_cond_broadcast(&holder->changed);
    pthread_mutex_unlock(&holder->lock);
    sandlot_cancel(holder->cancellation);
    /* It ends soon: what it makes is cancelled, and undone within a minute. */
    if (join)
        pthread_join(holder->maker, NULL);
    holder->has_maker = false;
    /* From here on nobody changes what is current. */
    if (!holder->current || !holder->current->session->record || holder_tenure(holder) != TENURE_OWNED)
        return 0;
    return delete_sandbox(holder->current->session);
}

void holder_free(struct holder *holder)
{
    if (!holder)
        return;
    if (holder->current) {
        struct sandlot_session *session = holder->current->session;

        if (holder_tenure(holder) == TENURE_OWNED) {
            ledger_record_free(session->record); /* holder_delete has dealt with it */
            session->record = NULL;
        }
        close_lease(holder->current);
    }
    sandlot_error_clear(&holder->failure);
    sandlot_cancellation_free(holder->cancellation);
    pthread_cond_destroy(&holder->changed);
    pthread_mutex_destroy(&holder->lock);
    free(holder);
}

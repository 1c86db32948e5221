/* The network of a living sandbox: what holds, how it is changed, what was decided. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/text.h"
#include "network/change.h"
#include "session/network.h"
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

enum { CALL_MS = 30 * 1000, LOCK_MS = 60 * 1000 };

static const char *name_of(const struct sandlot_session *session)
{
    return session->provider->entry->name;
}

static void begin(const struct sandlot_session *session, int cancel_fd, struct host_call *call)
{
    const struct provider *provider = session->provider;

    host_call_init(call, provider->entry->name, provider->environment, sandlot_now_ms() + CALL_MS, cancel_fd);
}

static int end(struct host_call *call, enum sandlot_status status, const char *what, struct sandlot_error *error)
{
    int failed = host_call_error(call, status, what, true, error);

    host_call_clear(call);
    return failed;
}

/* ---- what is remembered ------------------------------------------------------------------------------------------ */

/* The ledger's record of the sandbox, to be freed; NULL: it has none. */
static struct ledger_record *find_record(const struct sandlot_session *session)
{
    return ledger_find(name_of(session), session->id);
}

/* What the provider tells. */
struct told {
    struct sandlot_network_view view;
    struct json_object *state; /* NULL: nothing was asked */
    char *note;
    bool broken; /* and it is not what is lacking, but what has broken */
};

static void told_clear(struct told *told)
{
    json_object_put(told->state);
    free(told->note);
}

static void take(const struct sandlot_network_view *view, const struct sandlot_network *network, const char *note)
{
    struct told *told = view->context;

    told_clear(told);
    told->state = network ? network_state_of(network) : NULL;
    told->note = note ? strdup(note) : NULL;
}

static void take_break(const struct sandlot_network_view *view)
{
    struct told *told = view->context;

    told->broken = true;
}

static int ask_provider(const struct sandlot_session *session, int cancel_fd, struct told *told,
                        struct sandlot_error *error)
{
    const struct provider *provider = session->provider;
    struct host_call call;

    *told = (struct told){.view = {sizeof(told->view), told, take, take_break}};
    if (!provider->table.show_network)
        return 0;
    begin(session, cancel_fd, &call);
    enum sandlot_status status =
        provider->table.show_network(&call.call, provider->instance, session->sandbox, &told->view);

    return end(&call, status, "cannot tell what the sandbox may reach", error);
}

/* What holds, to be put; NULL: nothing was asked, or, with the error, it cannot be told. The ledger knows it as people
 * wrote it, the provider whether it is so. */
static struct json_object *find_state(const struct sandlot_session *session, const struct ledger_record *record,
                                      int cancel_fd, struct told *told, struct sandlot_error *error)
{
    int failed = ask_provider(session, cancel_fd, told, error);
    struct json_object *remembered = record ? record->network : NULL;

    if (failed)
        return NULL;
    return json_object_get(network_state_agrees(session->sandlot->config, remembered, told->state) ? remembered
                                                                                                   : told->state);
}

/* ---- showing ----------------------------------------------------------------------------------------------------- */

int sandlot_show_network(struct sandlot_session *session,
                         void (*tell)(void *context, const struct sandlot_network_state *state), void *context,
                         struct sandlot_cancellation *cancellation, struct sandlot_error *error)
{
    struct sandlot_error why = {0};
    struct told told CLEANUP(told_clear) = {0};
    struct ledger_record *record = find_record(session);
    struct json_object *state = find_state(session, record, cancellation_fd(cancellation), &told, &why);
    int result = 0;

    ledger_record_free(record);
    if (error_is_set(&why))
        result = error_set(error, why.code, "%s", why.message);
    else
        result = network_state_tell(state, told.note, told.broken, tell, context, error);
    sandlot_error_clear(&why);
    json_object_put(state);
    return result;
}

/* ---- changing ---------------------------------------------------------------------------------------------------- */

static int send(const struct sandlot_session *session, const struct network_policy *policy, int cancel_fd,
                struct sandlot_error *error)
{
    const struct provider *provider = session->provider;
    struct network_view view CLEANUP(network_view_clear) = {0};
    struct host_call call;

    if (network_view_make(policy, &view, error) < 0)
        return -1;
    begin(session, cancel_fd, &call);
    enum sandlot_status status =
        provider->table.set_network(&call.call, provider->instance, session->sandbox, &view.network);

    return end(&call, status, "cannot change what the sandbox may reach", error);
}

int session_network_lock(const struct sandlot_session *session, int cancel_fd, struct sandlot_error *error)
{
    AUTO_FREE char *key = text_format("network %s", session->id);

    return key ? ledger_lock(key, sandlot_now_ms() + LOCK_MS, cancel_fd, error) : error_no_memory(error);
}

void session_network_refresh(struct sandlot_session *session)
{
    struct ledger_record *now = ledger_read_one(session->record->label);

    if (now) {
        json_object_put(session->record->network);
        session->record->network = json_object_get(now->network);
    }
    ledger_record_free(now);
}

/* The change is in force: the ledger follows. */
static int remember(struct sandlot_session *session, struct ledger_record *record, struct json_object *state,
                    struct sandlot_error *error)
{
    if (session->record) {
        json_object_put(session->record->network);
        session->record->network = json_object_get(state);
    }
    if (!record)
        return 0;
    json_object_put(record->network);
    record->network = json_object_get(state);
    return ledger_write(record, error);
}

static int apply(struct sandlot_session *session, const struct sandlot_network_change *change,
                 struct ledger_record *record, struct sandlot_error *error)
{
    struct network_policy policy CLEANUP(network_policy_clear) = {0};
    struct sandlot_error why = {0};
    struct told told CLEANUP(told_clear) = {0};
    int cancel_fd = cancellation_fd(change->cancellation);
    struct json_object *state = find_state(session, record, cancel_fd, &told, &why);
    struct json_object *changed = NULL;
    int result = error_is_set(&why) ? error_set(error, why.code, "%s", why.message) : 0;

    sandlot_error_clear(&why);
    if (result == 0)
        result = network_change_make(session->sandlot->config, state, change, &policy, &changed, error);
    if (result == 0)
        result = session_network_check(session->provider->entry, &policy, error);
    if (result == 0)
        result = send(session, &policy, cancel_fd, error);
    if (result == 0)
        result = remember(session, record, changed, error);
    json_object_put(state);
    json_object_put(changed);
    return result;
}

bool sandlot_can_change_network(const struct sandlot_session *session)
{
    return session->provider->table.set_network != NULL;
}

int sandlot_change_network(struct sandlot_session *session, const struct sandlot_network_change *change,
                           struct sandlot_error *error)
{
    struct sandlot_network_change own;

    if (sized_read(&own, sizeof(own), change, sizeof(own.size), "sandlot_network_change", error) < 0)
        return -1;
    if (!sandlot_can_change_network(session))
        return error_set(error, SANDLOT_CODE_NOT_SUPPORTED,
                         "%s cannot change what a living sandbox may reach; make a new one with --network or --allow",
                         name_of(session));
    AUTO_CLOSE int lock = session_network_lock(session, cancellation_fd(own.cancellation), error);

    if (lock < 0)
        return -1;
    struct ledger_record *record = find_record(session);
    int result = apply(session, &own, record, error);

    ledger_record_free(record);
    return result;
}

/* ---- the log ----------------------------------------------------------------------------------------------------- */

struct reading {
    struct sandlot_network_log log;
    bool (*each)(void *context, const struct sandlot_network_event *event);
    void *context;
    bool stopped;
};

/* What every provider tells of a decision. */
#define SMALLEST_DECISION                                     \
    (offsetof(struct sandlot_network_decision, duration_ms) + \
     sizeof(((struct sandlot_network_decision *)0)->duration_ms))

static enum sandlot_status pass_on(const struct sandlot_network_log *log,
                                   const struct sandlot_network_decision *decision)
{
    struct reading *reading = log->context;

    if (!decision || decision->size < SMALLEST_DECISION || !decision->host)
        return SANDLOT_INTERNAL;
    const struct sandlot_network_event event = {.size = sizeof(event),
                                                .number = decision->number,
                                                .at_ms = decision->at_ms,
                                                .allowed = decision->allowed,
                                                .port = decision->port,
                                                .host = decision->host,
                                                .rule = decision->rule,
                                                .reason = decision->reason,
                                                .bytes_in = decision->bytes_in,
                                                .bytes_out = decision->bytes_out,
                                                .duration_ms = decision->duration_ms};

    reading->stopped = !reading->each(reading->context, &event);
    return reading->stopped ? SANDLOT_CANCELLED : SANDLOT_OK;
}

bool sandlot_has_network_log(const struct sandlot_session *session)
{
    return session->provider->table.network_log != NULL;
}

int sandlot_read_network_log(struct sandlot_session *session, uint64_t after,
                             bool (*each)(void *context, const struct sandlot_network_event *event), void *context,
                             struct sandlot_cancellation *cancellation, struct sandlot_error *error)
{
    const struct provider *provider = session->provider;
    struct reading reading = {.each = each, .context = context};
    struct host_call call;

    if (!provider->table.network_log)
        return error_set(error, SANDLOT_CODE_NOT_SUPPORTED, "%s keeps no log of what its sandboxes reach",
                         name_of(session));
    reading.log = (struct sandlot_network_log){sizeof(reading.log), &reading, pass_on};
    begin(session, cancellation_fd(cancellation), &call);
    enum sandlot_status status =
        provider->table.network_log(&call.call, provider->instance, session->sandbox, after, &reading.log);

    return end(&call, reading.stopped ? SANDLOT_OK : status, "cannot read the log of the network", error);
}

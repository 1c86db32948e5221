/*
 * Opening a session: check what can be checked, then find or create the sandbox, wait for it, set it up.
 *
 * From the moment in which the intent to create is in the ledger until the session stands, every way out goes
 * through abandon(), which deletes what may exist.
 */
#include "session/session.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/sized.h"
#include "base/text.h"
#include "config/value.h"
#include "session/creation.h"
#include "session/names.h"
#include "session/network.h"
#include "session/readiness.h"
#include "session/setup_script.h"
#include "session/volumes.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    FIRST_PAUSE_MS = 100,
    LONGEST_PAUSE_MS = 2000,
    ABANDON_MS = 60 * 1000, /* for deleting a sandbox whose session failed */
    LOOK_UP_MS = 15 * 1000
};

/* What the opening works with. */
struct opening {
    struct sandlot_session *session;
    const struct sandlot_session_options *options;
    int64_t deadline_ms; /* until the sandbox must be ready: start_timeout_s */
    int cancel_fd;
    struct network_policy *policy;   /* for a sandbox that is made; mode 0: nothing was asked */
    const struct volumes *volumes;   /* for one that is made */
    struct sandlot_error unrecorded; /* why the id could not be written to the ledger */
};

/* ---- checks before anything is loaded ---- */

static int check_text(const char *value, const char *option, struct sandlot_error *error)
{
    if (value && !*value)
        return error_set(error, SANDLOT_CODE_USAGE, "%s must not be empty", option);
    return 0;
}

#define NETWORK_ADVICE "change a living sandbox with `sandlot network`"

static bool asks_for_network(const struct sandlot_session_options *options)
{
    return options->network || (options->allow && *options->allow);
}

static bool asks_for_volumes(const struct sandlot_session_options *options)
{
    return options->volumes && *options->volumes;
}

static int check_options(const struct sandlot_session_options *options, struct sandlot_error *error)
{
    if (check_text(options->provider, "the provider's name (--sandbox)", error) < 0 ||
        check_text(options->sandbox_id, "the sandbox's id (--sandbox-id)", error) < 0 ||
        check_text(options->snapshot_name, "the snapshot's name (--sandbox-snapshot-name)", error) < 0 ||
        check_text(options->setup_file, "the setup script's path (--sandbox-setup)", error) < 0 ||
        check_text(options->scope, "the scope (--scope)", error) < 0)
        return -1;
    if (options->sandbox_id && asks_for_network(options))
        return error_set(error, SANDLOT_CODE_USAGE, "--network and --allow are for a new sandbox; " NETWORK_ADVICE);
    if (options->sandbox_id && asks_for_volumes(options))
        return error_set(error, SANDLOT_CODE_USAGE, "--volume is for a new sandbox; a living one keeps what it has");
    if (options->sandbox_id && options->snapshot_name)
        return error_set(error, SANDLOT_CODE_USAGE,
                         "--sandbox-id and --sandbox-snapshot-name exclude each other: a snapshot only applies to a "
                         "fresh sandbox");
    if (options->name && (options->sandbox_id || options->scope))
        return error_set(error, SANDLOT_CODE_USAGE,
                         "--name is for a sandbox that is made, and goes with no other way to "
                         "choose one: --sandbox-id, --scope");
    if (options->name && names_check(options->name, error) < 0)
        return -1;
    if (options->sandbox_id && options->scope)
        return error_set(error, SANDLOT_CODE_USAGE,
                         "--sandbox-id and --scope exclude each other: both choose a sandbox");
    return 0;
}

static int check_metadata(const struct registry_entry *entry, const struct sandlot_session_options *options,
                          struct sandlot_error *error)
{
    if (options->snapshot_name && !entry->supports_snapshot_name)
        return error_set(error, SANDLOT_CODE_USAGE,
                         "%s does not start from a snapshot by name; leave --sandbox-snapshot-name out", entry->name);
    if (options->sandbox_id && !entry->supports_sandbox_id)
        return error_set(error, SANDLOT_CODE_USAGE, "%s cannot attach to a sandbox by its id; leave --sandbox-id out",
                         entry->name);
    return 0;
}

/* A limit that stands under a name which no provider has, but which is near to that of ENTRY, was meant for that. */
static int check_neighbours(const struct sandlot *sandlot, const struct registry_entry *entry,
                            struct sandlot_error *error)
{
    struct json_object *providers = config_member(config_member(sandlot->config->tree, "sandboxes"), "providers");
    const char *const meant[] = {entry->name};

    if (!json_object_is_type(providers, json_type_object))
        return 0;
    json_object_object_foreach(providers, name, table)
    {
        if (strcmp(name, entry->name) == 0 || !text_nearest(name, meant, 1) || !config_member(table, "network"))
            continue;
        const struct registry_entry *other = registry_find(sandlot->registry, name, NULL);

        if (!other || (other->problem && !other->path && !other->shadows && !config_member(table, "class_path")))
            return error_set(
                error, SANDLOT_CODE_USAGE,
                "%s: there is no provider %s for [sandboxes.providers.%s.network]; did you mean %s? Nothing "
                "is made until that is mended",
                sandlot->config->file, name, name, entry->name);
    }
    return 0;
}

/* What a sandbox that is made may reach. An attached one has what it has. */
static int find_policy(const struct sandlot *sandlot, const struct registry_entry *entry,
                       const struct sandlot_session_options *options, struct network_policy *policy,
                       struct sandlot_error *error)
{
    if (options->sandbox_id)
        return 0;
    if (check_neighbours(sandlot, entry, error) < 0 ||
        network_policy_find(sandlot->config, entry->name, options->network, options->allow, policy, error) < 0)
        return -1;
    return policy->mode ? session_network_check(entry, policy, error) : 0;
}

/* The storage that a sandbox that is made gets. */
static int find_volumes(const struct sandlot *sandlot, const struct registry_entry *entry,
                        const struct sandlot_session_options *options, struct volumes *volumes,
                        struct sandlot_error *error)
{
    return options->sandbox_id ? 0 : volumes_find(sandlot, entry, options->volumes, volumes, error);
}

/* ---- talking to the provider ---- */

static void on_created(void *context, const char *id, const char *working_dir)
{
    struct opening *opening = context;
    struct sandlot_session *session = opening->session;

    free(session->id);
    session->id = strdup(id);
    if (working_dir) {
        free(session->working_dir);
        session->working_dir = strdup(working_dir);
    }
    if (!session->record)
        return;
    free(session->record->id);
    session->record->id = strdup(id);
    /* A sandbox that exists and whose name the ledger does not know: the opening must not succeed. */
    if (!session->id || !session->record->id)
        error_no_memory(&opening->unrecorded);
    else
        ledger_write(session->record, &opening->unrecorded);
}

static void on_progress(void *context, const char *what, uint64_t done, uint64_t total)
{
    struct opening *opening = context;

    if (opening->options->progress)
        opening->options->progress(opening->options->context, what, done, total);
    else
        log_info("%s", what);
}

static void start_call(struct opening *opening, struct host_call *call)
{
    struct provider *provider = opening->session->provider;

    host_call_init(call, provider->entry->name, provider->environment, opening->deadline_ms, opening->cancel_fd);
    call->created = on_created;
    call->progress = on_progress;
    call->context = opening;
}

/* Finds or creates the sandbox: REQUEST says which. Fills the session's handle and id. */
static enum sandlot_status get_or_create(struct opening *opening, struct sandlot_create *request,
                                         struct sandlot_error *error)
{
    struct sandlot_session *session = opening->session;
    struct provider *provider = session->provider;
    struct host_call call;
    enum sandlot_status status;

    start_call(opening, &call);
    status = provider->table.get_or_create(&call.call, provider->instance, request, &session->sandbox);
    session->has_handle = status == SANDLOT_OK;
    host_call_error(&call, status, request->sandbox_id ? "cannot attach to the sandbox" : "cannot create a sandbox",
                    session->id != NULL, error);
    host_call_clear(&call);
    if (status == SANDLOT_INVALID_ARGUMENT)
        parameters_add_origin(provider->parameters, error);
    if (status != SANDLOT_OK)
        return status;
    if (error_is_set(&opening->unrecorded)) {
        error_set(error, opening->unrecorded.code, "the sandbox's id is not recorded: %s", opening->unrecorded.message);
        return SANDLOT_INTERNAL;
    }
    if (!session->id) {
        error_set(error, SANDLOT_CODE_PROVIDER_ERROR,
                  "%s: the provider made a sandbox without telling its id; report this to its vendor",
                  provider->entry->name);
        return SANDLOT_INTERNAL;
    }
    return SANDLOT_OK;
}

/* Waits PAUSE_MS unless the deadline or a cancellation comes first. */
static void wait_a_little(const struct opening *opening, int pause_ms)
{
    struct pollfd cancel = {opening->cancel_fd, POLLIN, 0};
    int64_t left = opening->deadline_ms - sandlot_now_ms();

    poll(&cancel, 1, left < pause_ms ? (int)(left > 0 ? left : 0) : pause_ms);
}

static enum sandlot_status look_once(struct opening *opening, struct sandlot_error *why)
{
    struct sandlot_session *session = opening->session;
    struct provider *provider = session->provider;
    struct host_call call;
    enum sandlot_status status;

    start_call(opening, &call);
    status = provider->table.ready(&call.call, provider->instance, session->sandbox);
    sandlot_error_clear(why);
    host_call_error(&call, status, "the sandbox did not get ready", true, why);
    host_call_clear(&call);
    return status;
}

static int wait_until_ready(struct opening *opening, struct sandlot_error *error)
{
    struct provider *provider = opening->session->provider;
    struct sandlot_error why = {0};
    int pause_ms = FIRST_PAUSE_MS;

    if (!provider->table.ready)
        return 0;
    for (;;) {
        enum sandlot_status status = look_once(opening, &why);
        struct pollfd cancel = {opening->cancel_fd, POLLIN, 0};

        if (status == SANDLOT_OK)
            break;
        if (poll(&cancel, 1, 0) > 0)
            error_set(error, SANDLOT_CODE_CANCELLED, "%s: cancelled while the sandbox was starting",
                      provider->entry->name);
        else if (sandlot_now_ms() >= opening->deadline_ms)
            error_set(error, SANDLOT_CODE_TIMEOUT,
                      "%s: the sandbox was not ready within %lld s (start_timeout_s); the last answer was: %s",
                      provider->entry->name, (long long)(parameters_start_timeout_ms(provider->parameters) / 1000),
                      why.message ? why.message : "none");
        else if (status != SANDLOT_UNAVAILABLE)
            error_set(error, why.code, "%s", why.message);
        if (error_is_set(error)) {
            sandlot_error_clear(&why);
            return -1;
        }
        wait_a_little(opening, pause_ms);
        pause_ms = pause_ms * 2 < LONGEST_PAUSE_MS ? pause_ms * 2 : LONGEST_PAUSE_MS;
    }
    sandlot_error_clear(&why);
    return 0;
}

/* ---- creating ---- */

/* A name may be that of a sandbox that has ended by itself and that nobody has missed yet. */
static void forget_ended(const struct opening *opening)
{
    struct ledger_record **records;
    size_t count;

    if (ledger_read(&records, &count, NULL) < 0)
        return;
    session_forget_ended(opening->session->sandlot, records, count, opening->cancel_fd);
    ledger_free_records(records, count);
}

static struct ledger_record *write_intent(const struct opening *opening, struct sandlot_error *error)
{
    struct sandlot_error why = {0};
    const struct creation_wish wish = {.sandlot = opening->session->sandlot,
                                       .provider = opening->session->provider,
                                       .scope = opening->options->scope,
                                       .name = opening->options->name,
                                       .cancel_fd = opening->cancel_fd,
                                       .parameters = opening->options->parameters,
                                       .network = network_policy_json(opening->policy)};
    struct ledger_record *record = creation_write_intent(&wish, &why);

    if (!record && why.code == SANDLOT_CODE_CONFLICT) {
        sandlot_error_clear(&why);
        forget_ended(opening);
        record = creation_write_intent(&wish, &why);
    }
    if (!record)
        error_set(error, why.code, "%s", why.message);
    sandlot_error_clear(&why);
    json_object_put(wish.network);
    return record;
}

/* It could not be looked up whether there is a sandbox, because of PROBLEM. */
static void warn_of_unknown(const struct opening *opening, enum sandlot_status status,
                            const struct sandlot_error *problem)
{
    const struct sandlot_session *session = opening->session;
    const char *name = session->provider->entry->name;
    const char *doubt = status == SANDLOT_UNAVAILABLE ? "a sandbox was probably not created, but that is not certain"
                                                      : "it is not known whether a sandbox was created";
    AUTO_FREE char *advice = leftover_advice(session->record);

    if (problem->code == SANDLOT_CODE_NOT_SUPPORTED)
        log_warning("%s: %s, and this provider cannot list its sandboxes: %s", name, doubt, advice ? advice : "");
    else
        log_warning("%s (%s); `sandlot gc` will look again", doubt, problem->message); /* which names the provider */
}

/* Was it this side that ended the request? Then the vendor may still be at it, and its list says nothing yet. */
static bool is_cut_off(enum sandlot_status status)
{
    return status == SANDLOT_CANCELLED || status == SANDLOT_TIMEOUT;
}

/*
 * The way out once the intent is written: deletes the sandbox, looks it up by its label if its id was never heard, and
 * takes the record out of the ledger when it is sure that nothing is left. Never touches a sandbox that is not ours.
 */
static void abandon(struct opening *opening, enum sandlot_status status)
{
    struct sandlot_session *session = opening->session;
    struct provider *provider = session->provider;
    struct sandlot_error problem = {0};
    int64_t deadline_ms = sandlot_now_ms() + ABANDON_MS;

    if (!session->record)
        return;
    session_release_handle(session);
    if (!session->id && creation_may_have_happened(status)) {
        if (provider->table.list)
            on_progress(opening, "asking whether a sandbox was created", 0, 0);
        if (session_find_by_label(provider, session->record->label, sandlot_now_ms() + LOOK_UP_MS, -1, &session->id,
                                  &problem) < 0) {
            warn_of_unknown(opening, status, &problem);
            sandlot_error_clear(&problem);
            return;
        }
        if (!session->id && is_cut_off(status)) {
            log_info("%s lists no sandbox for the request that was cut off; `sandlot gc` and later runs look again",
                     provider->entry->name);
            return;
        }
    }
    if (session->id)
        on_progress(opening, "deleting the sandbox", 0, 0);
    if (session->id && session_delete_at_provider(provider, session->id, deadline_ms, -1, &problem) < 0) {
        log_warning("sandbox %s could not be deleted: %s; delete it with: sandlot delete --sandbox %s %s", session->id,
                    problem.message, provider->entry->name, session->id);
        sandlot_error_clear(&problem);
        return;
    }
    if (ledger_remove(session->record->label, &problem) < 0)
        log_warning("%s", problem.message);
    sandlot_error_clear(&problem);
}

/* Asks for the sandbox of RECORD. */
static enum sandlot_status request_sandbox(struct opening *opening, const struct ledger_record *record,
                                           const struct sandlot_network *network, struct sandlot_error *error)
{
    struct creation creation CLEANUP(creation_clear) = {0};

    creation_make(&creation, record, opening->session->provider, network);
    creation.request.snapshot = opening->options->snapshot_name;
    creation.request.volumes = opening->volumes->list;
    creation.request.volume_count = opening->volumes->count;
    creation.request.flags = opening->session->keep ? SANDLOT_CREATE_KEEP : 0;
    return get_or_create(opening, &creation.request, error);
}

static int create(struct opening *opening, struct sandlot_error *error)
{
    struct network_view view CLEANUP(network_view_clear) = {0};

    /* A secret that cannot be had is found out before anything exists. */
    if (network_policy_read_secrets(opening->policy, opening->cancel_fd, error) < 0 ||
        network_view_make(opening->policy, &view, error) < 0)
        return -1;
    const struct ledger_record *record = opening->session->record = write_intent(opening, error);

    if (!record)
        return -1;
    enum sandlot_status status = request_sandbox(opening, record, opening->policy->mode ? &view.network : NULL, error);

    if (status == SANDLOT_OK && wait_until_ready(opening, error) == 0)
        return 0;
    abandon(opening, status);
    return -1;
}

static int attach(struct opening *opening, const char *id, struct sandlot_error *error)
{
    struct sandlot_create request = {.size = sizeof(request), .sandbox_id = id};

    opening->session->id = strdup(id);
    if (!opening->session->id)
        return error_no_memory(error);
    return get_or_create(opening, &request, error) == SANDLOT_OK ? wait_until_ready(opening, error) : -1;
}

/* ---- scopes ---- */

/* 1: attached to the scope's live sandbox; 0: it has none (any more); -1: error. */
static int attach_to_scope(struct opening *opening, struct sandlot_error *error)
{
    struct sandlot_session *session = opening->session;
    struct ledger_record *record;
    struct sandlot_error why = {0};
    int result = 0;

    if (ledger_find_scope(session->provider->entry->name, opening->options->scope, &record, error) < 0)
        return -1;
    if (!record)
        return 0;
    if (attach(opening, record->id, &why) == 0) {
        result = 1;
    } else if (why.code == SANDLOT_CODE_SANDBOX_NOT_FOUND) {
        log_info("the sandbox %s of scope %s is gone; making a new one", record->id, opening->options->scope);
        session_release_handle(session);
        free(TAKE(session->id));
        free(TAKE(session->working_dir));
        result = ledger_remove(record->label, error);
    } else {
        result = error_set(error, why.code, "%s", why.message);
    }
    sandlot_error_clear(&why);
    ledger_record_free(record);
    return result;
}

/* ---- the working directory, the setup script ---- */

static enum sandlot_status discard(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    (void)sink, (void)bytes, (void)length;
    return SANDLOT_OK;
}

/* A working directory that the configuration asks for is created if it is missing. */
static int use_configured_directory(struct opening *opening, struct sandlot_error *error)
{
    struct sandlot_session *session = opening->session;
    const struct registry_entry *entry = session->provider->entry;
    const char *wanted = entry->config ? entry->config->working_dir : NULL;

    if (!wanted || (session->working_dir && strcmp(wanted, session->working_dir) == 0))
        return 0;
    AUTO_FREE char *quoted = text_shell_quote(wanted);
    AUTO_FREE char *command = quoted ? text_format("mkdir -p -- %s", quoted) : NULL;
    struct sandlot_command request = {.size = sizeof(request), .command = command, .timeout_ms = 30 * 1000};
    struct sandlot_sink sink = {.size = sizeof(sink), .write = discard};
    struct sandlot_exit result = {.size = sizeof(result)};

    free(session->working_dir);
    session->working_dir = strdup(wanted);
    if (!command || !session->working_dir)
        return error_no_memory(error);
    if (!session->provider->table.execute)
        return 0;
    if (session_run(session, &request, &sink, &result, session_command_deadline(request.timeout_ms), opening->cancel_fd,
                    NULL, error) < 0)
        return -1;
    if (result.exit_code != 0)
        return error_set(
            error, SANDLOT_CODE_PROVIDER_ERROR,
            "%s: the working directory %s of the configuration cannot be created in the sandbox; choose one "
            "that its user may write",
            entry->name, wanted);
    return 0;
}

static int finish(struct opening *opening, const char *setup, struct sandlot_error *error)
{
    struct sandlot_session *session = opening->session;

    if (use_configured_directory(opening, error) < 0)
        return -1;
    if (!session->working_dir)
        session->working_dir = strdup(session->provider->entry->working_dir);
    if (!session->working_dir)
        return error_no_memory(error);
    return setup ? session_run_setup(session, setup, opening->options, error) : 0;
}

/* ---- opening ---- */

/*
 * The sandbox of the scope, found or made. Under a lock, so that two processes do not make two; one that was made is
 * left, for others to find, only after its setup.
 */
static int open_scope(struct opening *opening, const char *setup, struct sandlot_error *error)
{
    AUTO_FREE char *key = text_format("scope %s", opening->options->scope);
    AUTO_CLOSE int lock =
        key ? ledger_lock(key, opening->deadline_ms, opening->cancel_fd, error) : error_no_memory(error);

    if (lock < 0)
        return -1;
    int found = attach_to_scope(opening, error);

    if (found > 0 && asks_for_network(opening->options))
        return error_set(error, SANDLOT_CODE_USAGE,
                         "the scope %s has the living sandbox %s, which --network and --allow "
                         "do not change; " NETWORK_ADVICE,
                         opening->options->scope, opening->session->id);
    if (found > 0 && asks_for_volumes(opening->options))
        return error_set(error, SANDLOT_CODE_USAGE,
                         "the scope %s has the living sandbox %s, which keeps the volumes that it has; leave --volume "
                         "out, or use another scope",
                         opening->options->scope, opening->session->id);
    if (found != 0)
        return found < 0 ? -1 : finish(opening, NULL, error);
    if (create(opening, error) < 0)
        return -1;
    if (finish(opening, setup, error) == 0 && sandlot_session_detach(opening->session, error) == 0)
        return 0;
    abandon(opening, SANDLOT_OK);
    return -1;
}

static int open_sandbox(struct opening *opening, const char *setup, struct sandlot_error *error)
{
    const struct sandlot_session_options *options = opening->options;

    if (cancellation_check(opening->cancel_fd, error) < 0)
        return -1;
    if (options->scope)
        return open_scope(opening, setup, error);
    if (options->sandbox_id)
        return attach(opening, options->sandbox_id, error) < 0 ? -1 : finish(opening, setup, error);
    if (create(opening, error) < 0)
        return -1;
    if (finish(opening, setup, error) == 0)
        return 0;
    abandon(opening, SANDLOT_OK);
    return -1;
}

static struct sandlot_session *new_session(struct sandlot *sandlot, const struct sandlot_session_options *options,
                                           struct sandlot_error *error)
{
    struct sandlot_session *session = calloc(1, sizeof(*session));

    if (!session) {
        error_no_memory(error);
        return NULL;
    }
    session->turn_fd = -1;
    path_locks_init(&session->path_locks);
    session_roots_init(&session->roots);
    process_cursors_init(&session->cursors);
    session->sandlot = sandlot;
    session->keep = options->keep || options->scope;
    session->provider = runtime_load(sandlot, options->provider, options->parameters, false, error);
    bool serial = session->provider && (session->provider->table.flags & SANDLOT_SERIAL_SANDBOX);

    if (serial)
        session->turn_fd = eventfd(1, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC);
    if (serial && session->turn_fd < 0)
        error_set(error, SANDLOT_CODE_INTERNAL_ERROR, "cannot open a session: %s", strerror(errno));
    else if (session->provider)
        return session;
    session_free(session);
    return NULL;
}

struct sandlot_session *sandlot_session_open(struct sandlot *sandlot, const struct sandlot_session_options *options,
                                             struct sandlot_error *error)
{
    struct sandlot_session_options own;
    struct sandlot_error local = {0};
    struct network_policy policy CLEANUP(network_policy_clear) = {0};
    struct volumes volumes CLEANUP(volumes_clear) = {0};
    AUTO_FREE char *setup = NULL;

    error = error ? error : &local; /* the reason is needed here even if the caller does not want it */
    if (sized_read(&own, sizeof(own), options, sizeof(own.size), "sandlot_session_options", error) < 0) {
        sandlot_error_clear(&local);
        return NULL;
    }
    options = &own;
    const struct registry_entry *entry =
        check_options(options, error) == 0
            ? registry_find(sandlot->registry, options->provider ? options->provider : RUNTIME_DEFAULT_PROVIDER, error)
            : NULL;
    struct sandlot_session *session = NULL;

    if (entry && check_metadata(entry, options, error) == 0 &&
        find_policy(sandlot, entry, options, &policy, error) == 0 &&
        find_volumes(sandlot, entry, options, &volumes, error) == 0 &&
        (!options->setup_file || (setup = setup_script_read(options->setup_file, sandlot->environment, error))) &&
        (session = new_session(sandlot, options, error)) &&
        readiness_check_credentials(session->provider, error) == 0) {
        struct opening opening = {.session = session,
                                  .options = options,
                                  .deadline_ms =
                                      sandlot_now_ms() + parameters_start_timeout_ms(session->provider->parameters),
                                  .cancel_fd = cancellation_fd(options->cancellation),
                                  .policy = &policy,
                                  .volumes = &volumes};

        session->sweep = leftovers_sweep_start(session->provider);
        int failed = open_sandbox(&opening, setup, error);

        sandlot_error_clear(&opening.unrecorded);
        if (!failed)
            return session;
    }
    session_free(session);
    sandlot_error_clear(&local);
    return NULL;
}

/*
 * Forking: a sandbox that is made of another. As in open.c the intent is in the ledger before the request goes out;
 * what came of a request whose answer was lost is found by its label, and it is never sent again.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "session/creation.h"
#include "session/lifecycle.h"
#include "session/network.h"
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

enum { LOOK_UP_MS = 15 * 1000, TAKE_BACK_MS = 60 * 1000 };

struct forking {
    struct sandlot *sandlot;
    struct provider *provider;
    const char *const *parameters;
    const char *id; /* of the original */
    int cancel_fd;
    struct network_policy policy;
    struct ledger_record *record; /* of the copy */
    struct sandlot_error unrecorded;
};

/* ---- what the copy may reach ------------------------------------------------------------------------------------- */

/* The texts of an array, ended by NULL; to be freed. NULL: out of memory. */
static const char **texts_of(struct json_object *array)
{
    size_t count = array ? json_object_array_length(array) : 0;
    const char **texts = calloc(count + 1, sizeof(*texts));

    for (size_t i = 0; texts && i < count; i++)
        texts[i] = json_object_get_string(json_object_array_get_idx(array, i));
    return texts;
}

/* What was asked of the original is asked anew: credentials as the configuration has them now. */
static int policy_of(struct forking *forking, struct json_object *network, struct sandlot_error *error)
{
    const struct provider *provider = forking->provider;
    struct json_object *mode = NULL;
    struct json_object *allow = NULL;

    json_object_object_get_ex(network, "mode", &mode);
    json_object_object_get_ex(network, "allow", &allow);
    AUTO_FREE const char **entries = texts_of(allow);

    if (!entries)
        return error_no_memory(error);
    if (network_policy_find(forking->sandlot->config, provider->entry->name, json_object_get_string(mode), entries,
                            &forking->policy, error) < 0 ||
        session_network_check(provider->entry, &forking->policy, error) < 0)
        return -1;
    if (provider->table.abi_minor < 3)
        return error_set(error, SANDLOT_CODE_NOT_SUPPORTED,
                         "%s cannot be told what a fork may reach, and its original has a network policy; make a "
                         "snapshot, and a sandbox from that",
                         provider->entry->name);
    return network_policy_read_secrets(&forking->policy, forking->cancel_fd, error);
}

static int find_policy(struct forking *forking, struct sandlot_error *error)
{
    struct ledger_record **records;
    struct json_object *network = NULL;
    size_t count;

    if (ledger_read(&records, &count, error) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (records[i]->id && strcmp(records[i]->id, forking->id) == 0 &&
            strcmp(records[i]->provider, forking->provider->entry->name) == 0)
            network = records[i]->network;
    int result = network ? policy_of(forking, network, error) : 0;

    ledger_free_records(records, count);
    return result;
}

/* ---- the request ------------------------------------------------------------------------------------------------- */

static void remember(struct forking *forking, const char *id)
{
    struct ledger_record *record = forking->record;

    free(record->id);
    record->id = strdup(id);
    if (!record->id)
        error_no_memory(&forking->unrecorded);
    else
        ledger_write(record, &forking->unrecorded);
}

static void on_created(void *context, const char *id, const char *working_dir)
{
    (void)working_dir;
    remember(context, id);
}

static enum sandlot_status ask(struct forking *forking, struct sandlot_error *error)
{
    struct provider *provider = forking->provider;
    struct creation creation CLEANUP(creation_clear) = {0};
    struct network_view view CLEANUP(network_view_clear) = {0};
    struct host_call call;

    if (network_view_make(&forking->policy, &view, error) < 0)
        return SANDLOT_EXHAUSTED;
    creation_make(&creation, forking->record, provider, forking->policy.mode ? &view.network : NULL);
    creation.request.flags = SANDLOT_CREATE_KEEP;
    host_call_init(&call, provider->entry->name, provider->environment, sandlot_now_ms() + LIFECYCLE_MS,
                   forking->cancel_fd);
    call.created = on_created;
    call.context = forking;
    enum sandlot_status status = provider->table.fork(&call.call, provider->instance, forking->id, &creation.request);

    host_call_error(&call, status, "cannot fork the sandbox", true, error);
    host_call_clear(&call);
    if (status == SANDLOT_OK && error_is_set(&forking->unrecorded)) {
        error_set(error, forking->unrecorded.code, "the fork's id is not recorded: %s", forking->unrecorded.message);
        return SANDLOT_INTERNAL;
    }
    return status;
}

/* ---- when it did not go well ------------------------------------------------------------------------------------- */

/* Deletes what was made and forgets it, or leaves both for `gc`. */
static void take_back(struct forking *forking)
{
    struct ledger_record *record = forking->record;
    struct sandlot_error problem = {0};

    if (record->id &&
        session_delete_at_provider(forking->provider, record->id, sandlot_now_ms() + TAKE_BACK_MS, -1, &problem) < 0)
        log_warning("the fork %s could not be deleted: %s; `sandlot gc` will try again", record->id, problem.message);
    else if (ledger_remove(record->label, &problem) < 0)
        log_warning("%s", problem.message);
    sandlot_error_clear(&problem);
}

/* The request failed with WHY, before any id was heard. 1: the copy is there all the same, and recorded; 0: it is not;
 * -1: that cannot be told, so the record stays. */
static int look_up(struct forking *forking, struct sandlot_error *why)
{
    struct sandlot_error problem = {0};
    AUTO_FREE char *advice = leftover_advice(forking->record);
    char *id = NULL;
    int found = session_find_by_label(forking->provider, forking->record->label, sandlot_now_ms() + LOOK_UP_MS, -1, &id,
                                      &problem);

    if (found > 0)
        remember(forking, id);
    else if (found == 0)
        error_append(why, "; none with its label is listed, and where a fork cannot get a label 'sandlot list' shows "
                          "what there is");
    else
        error_append(why, "; it is not known whether there is a fork (%s): %s", problem.message, advice ? advice : "");
    free(id);
    sandlot_error_clear(&problem);
    return found;
}

/* 0: FORKING has its copy. */
static int settle(struct forking *forking, enum sandlot_status status, struct sandlot_error *error)
{
    bool heard = forking->record->id != NULL;
    int found = heard;

    if (!heard && status == SANDLOT_OK)
        error_set(error, SANDLOT_CODE_PROVIDER_ERROR,
                  "%s: the provider made a fork without telling its id; report this to its vendor",
                  forking->provider->entry->name);
    if (!heard && creation_may_have_happened(status))
        found = look_up(forking, error);
    /* What was made although its answer was lost is what was wanted, unless nobody wants it any more. */
    bool wanted = status == SANDLOT_OK || (!heard && status != SANDLOT_CANCELLED);

    if (found > 0 && wanted && !error_is_set(&forking->unrecorded)) {
        sandlot_error_clear(error);
        return 0;
    }
    if (found >= 0)
        take_back(forking);
    return -1;
}

/* What the original's work is compared with, the copy's is too. Without it there is a fork all the same. */
static void take_base_over(const struct forking *forking)
{
    struct ledger_record *original = ledger_find(forking->provider->entry->name, forking->id);
    struct sandlot_error problem = {0};
    size_t length = 0;
    AUTO_FREE char *text = original ? ledger_read_kept(original->label, &length) : NULL;

    if (text && ledger_write_kept(forking->record->label, text, length, &problem) < 0)
        log_warning("`diff` and `apply` of the fork will not know what its files were before: %s", problem.message);
    sandlot_error_clear(&problem);
    ledger_record_free(original);
}

/* ---- in one ------------------------------------------------------------------------------------------------------ */

static int fork_it(struct forking *forking, struct sandlot_error *error)
{
    if (!forking->provider->table.fork)
        return lifecycle_unsupported(forking->sandlot, forking->provider, CAPABILITY_FORK, "fork its sandboxes", error);
    if (find_policy(forking, error) < 0)
        return -1;
    const struct creation_wish wish = {.sandlot = forking->sandlot,
                                       .provider = forking->provider,
                                       .parameters = forking->parameters,
                                       .cancel_fd = forking->cancel_fd,
                                       .network = network_policy_json(&forking->policy)};

    forking->record = creation_write_intent(&wish, error);
    json_object_put(wish.network);
    if (!forking->record)
        return -1;
    struct sandlot_error why = {0};
    int result = settle(forking, ask(forking, &why), &why);

    if (result < 0)
        error_set(error, why.code, "%s", why.message ? why.message : "the fork failed");
    else
        take_base_over(forking);
    sandlot_error_clear(&why);
    return result;
}

struct ledger_record *session_fork(struct sandlot *sandlot, const struct sandlot_target *target, const char *id,
                                   struct sandlot_error *error)
{
    struct forking forking = {.sandlot = sandlot, .id = id, .cancel_fd = -1};

    forking.provider = lifecycle_load(sandlot, target, id, "sandbox's id", &forking.cancel_fd, error);
    if (!forking.provider)
        return NULL;
    forking.parameters = target->parameters;
    int failed = fork_it(&forking, error);

    network_policy_clear(&forking.policy);
    sandlot_error_clear(&forking.unrecorded);
    provider_unload(forking.provider);
    if (!failed)
        return forking.record;
    ledger_record_free(forking.record);
    return NULL;
}

int session_fork_keep(struct ledger_record *record, struct sandlot_error *error)
{
    record->kept = true;
    return ledger_write(record, error);
}

int sandlot_fork(struct sandlot *sandlot, const struct sandlot_target *target, const char *id, char **new_id,
                 struct sandlot_error *error)
{
    *new_id = NULL;
    struct ledger_record *record = session_fork(sandlot, target, id, error);

    if (!record)
        return -1;
    int result = session_fork_keep(record, error);

    if (result == 0)
        *new_id = TAKE(record->id);
    ledger_record_free(record);
    return result;
}

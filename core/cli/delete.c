/* sandlot delete: ends sandboxes. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/usage.h"
#include "session/ledger.h"

#include <string.h>

enum { SCOPE_WAIT_MS = 60 * 1000 };

/* What has become of the ids so far. */
struct deletion {
    const struct context *context;
    struct json_object *results;
    struct sandlot_error worst; /* the first of those with the highest exit status */
};

static bool is_idempotent(const struct options *options)
{
    return options->given & (OPTION_SANDBOX | OPTION_IF_EXISTS);
}

/* ERROR says what became of ID. It is cleared. */
static void add_result(struct deletion *deletion, const char *id, struct sandlot_error *error)
{
    struct json_object *result = json_object_new_object();
    bool json = deletion->context->options->json;
    bool failed = error_is_set(error);

    if (failed && !json && error_exit_status(error->code) != 2)
        progress_line("sandlot: %s", error->message);
    else if (!failed && !json)
        output_line(id);
    json_object_object_add(result, "id", json_text(id));
    json_object_object_add(result, "error", failed ? json_object_new_string(sandlot_code_name(error->code)) : NULL);
    if (failed)
        json_object_object_add(result, "message", json_text(error->message));
    json_object_array_add(deletion->results, result);
    if (failed &&
        (!error_is_set(&deletion->worst) || error_exit_status(error->code) > error_exit_status(deletion->worst.code))) {
        sandlot_error_clear(&deletion->worst);
        deletion->worst = *error;
        *error = (struct sandlot_error){0};
    }
    sandlot_error_clear(error);
}

static void delete_at(struct deletion *deletion, struct sandlot *sandlot, const struct sandlot_target *target,
                      const char *id)
{
    struct sandlot_error error = {0};

    progress_begin("Deleting sandbox %s", id);
    sandlot_delete(sandlot, target, id, &error);
    progress_end();
    add_result(deletion, id, &error);
}

static void delete_owned(struct deletion *deletion, const struct owner *owner)
{
    struct sandlot_target target = context_target(deletion->context);

    target.provider = owner->provider;
    target.parameters = owner->parameters;
    delete_at(deletion, owner->sandlot, &target, owner->record->id);
}

/* Is ID one of a list's sandboxes? */
struct search {
    const char *id;
    bool found;
};

static bool is_other(void *context, const struct sandlot_listed_sandbox *sandbox)
{
    struct search *search = context;

    search->found = strcmp(sandbox->id, search->id) == 0;
    return !search->found;
}

/* An id that the ledger does not know: the sandbox may have been made with another state folder, but only if the
 * provider shows it is it believed. */
static void delete_unknown(struct deletion *deletion, const char *id)
{
    const struct context *context = deletion->context;
    struct sandlot_target target = context_target(context);
    struct search search = {.id = id};
    struct sandlot_error error = {0};
    int listed = sandlot_list(context->sandlot, &target, is_other, &search, &error);

    if (search.found) {
        sandlot_error_clear(&error);
        delete_at(deletion, context->sandlot, &target, id);
        return;
    }
    if (listed == 0 || error_exit_status(error.code) != 2) {
        sandlot_error_clear(&error);
        if (!is_idempotent(context->options)) {
            error_set(&error, SANDLOT_CODE_SANDBOX_NOT_FOUND,
                      "nothing was deleted: neither the ledger nor '%s' knows a sandbox %s", context->provider, id);
            owner_advise(id, &error);
        }
    }
    add_result(deletion, id, &error);
}

static void delete_id(struct deletion *deletion, const char *id)
{
    const struct context *context = deletion->context;
    struct sandlot_error error = {0};
    const struct sandlot_target target = context_target(context);
    bool named = context->options->given & OPTION_SANDBOX;
    struct owner owner;
    int found = owner_find(context->sandlot, context->options, id, &owner, &error);

    if (found > 0 && (!named || strcmp(owner.provider, context->provider) == 0)) {
        delete_owned(deletion, &owner);
    } else if (named) {
        sandlot_error_clear(&error);
        delete_at(deletion, context->sandlot, &target, id);
    } else if (found == 0) {
        delete_unknown(deletion, id);
    } else {
        add_result(deletion, id, &error);
    }
    owner_clear(&owner);
}

/* A bad parameter is one for every id: nothing is sent, and it is said once. */
static bool goes_on(const struct deletion *deletion)
{
    return error_exit_status(deletion->worst.code) != 2 && !signals_received();
}

/* ---- of the ledger ---- */

/* Of --all or --scope, and of --sandbox where that is given. */
static bool is_meant(const struct context *context, const struct ledger_record *record)
{
    const struct options *options = context->options;

    return record->id && (!(options->given & OPTION_SANDBOX) || strcmp(record->provider, context->provider) == 0) &&
           (!options->scope || (record->scope && strcmp(record->scope, options->scope) == 0));
}

static void delete_record(struct deletion *deletion, struct ledger_record *record)
{
    struct sandlot_error error = {0};
    AUTO_FREE char *id = strdup(record->id);
    struct owner owner;

    if (owner_of_record(deletion->context->sandlot, deletion->context->options, record, &owner, &error) == 0)
        delete_owned(deletion, &owner);
    else
        add_result(deletion, id ? id : "", &error);
    owner_clear(&owner);
}

/* What a running process answers for is deleted by that process when it ends. */
static void note_used(size_t used)
{
    if (used)
        log_warning("%zu sandbox%s in use by running commands stay%s until these end", used, used == 1 ? "" : "es",
                    used == 1 ? "s" : "");
}

static int delete_records(struct deletion *deletion, struct sandlot_error *error)
{
    const struct context *context = deletion->context;
    struct ledger_record **records;
    size_t count;
    size_t used = 0;

    if (ledger_read(&records, &count, error) < 0)
        return -1;
    for (size_t i = 0; i < count && goes_on(deletion); i++) {
        if (!is_meant(context, records[i]))
            continue;
        if (!records[i]->kept && ledger_owner_alive(records[i]))
            used++;
        else
            delete_record(deletion, TAKE(records[i]));
    }
    note_used(used);
    ledger_free_records(records, count);
    return 0;
}

/* With the scope's lock, so that no sandbox is being made for it meanwhile. */
static int delete_scope(struct deletion *deletion, struct sandlot_error *error)
{
    const struct options *options = deletion->context->options;
    AUTO_FREE char *key = text_format("scope %s", options->scope);
    AUTO_CLOSE int lock = key ? ledger_lock(key, sandlot_now_ms() + SCOPE_WAIT_MS,
                                            cancellation_fd(deletion->context->cancellation), error)
                              : error_no_memory(error);

    if (lock < 0 || delete_records(deletion, error) < 0)
        return -1;
    if (json_object_array_length(deletion->results) || is_idempotent(options))
        return 0;
    return error_set(error, SANDLOT_CODE_SANDBOX_NOT_FOUND,
                     "nothing was deleted: the ledger knows no sandbox of the scope '%s'; 'sandlot list --all' prints "
                     "those there are",
                     options->scope);
}

/* ---- the answer ---- */

static bool print_json(const struct options *options, struct deletion *deletion)
{
    struct json_object *object = json_object_new_object();
    bool one = !(options->given & OPTION_ALL) && json_object_array_length(deletion->results) == 1;

    if (error_is_set(&deletion->worst))
        report_error_in(object, &deletion->worst);
    if (!one)
        json_object_object_add(object, "results", json_object_get(deletion->results));
    else if (!error_is_set(&deletion->worst))
        json_object_object_add(
            object, "deleted",
            json_object_get(json_object_object_get(json_object_array_get_idx(deletion->results, 0), "id")));
    return output_json(object);
}

static int delete_all(const struct context *context)
{
    const struct options *options = context->options;
    struct deletion deletion = {.context = context, .results = json_object_new_array()};
    struct sandlot_error error = {0};
    int outcome = 0;

    if (options->scope)
        outcome = delete_scope(&deletion, &error);
    else if (options->given & OPTION_ALL)
        outcome = delete_records(&deletion, &error);
    for (size_t i = 0; i < options->argument_count && goes_on(&deletion); i++)
        delete_id(&deletion, options->arguments[i]);
    int status = error_exit_status(deletion.worst.code);

    if (outcome < 0 || status == 2)
        status = report_error(options, outcome < 0 ? &error : &deletion.worst);
    else if (options->json)
        print_json(options, &deletion);
    else if ((options->given & OPTION_ALL) && json_object_array_length(deletion.results) == 0 &&
             options->verbosity >= 0)
        progress_line("sandlot: there was nothing to delete");
    json_object_put(deletion.results);
    sandlot_error_clear(&error);
    sandlot_error_clear(&deletion.worst);
    return context_status(status);
}

/* One way to name sandboxes, and only one. 0, or the exit status after the complaint. */
static int check(const struct options *options)
{
    bool all = options->given & OPTION_ALL;
    int ways = (options->argument_count > 0) + all + (options->scope != NULL);

    if (ways == 0)
        return usage_error(options->command, "the id is missing; 'sandlot list' prints those there are, and --all "
                                             "means all that you have made");
    if (ways > 1)
        return usage_error(options->command, "ids, --all and --scope exclude each other");
    for (size_t i = 0; i < options->argument_count; i++)
        if (!*options->arguments[i])
            return usage_error(options->command, "an id is empty; 'sandlot list' prints those there are");
    return 0;
}

int command_delete(const struct options *options)
{
    struct context context;
    int status = check(options);

    if (status)
        return status;
    status = context_open(&context, options);
    if (status == 0)
        status = context_resolve(&context);
    if (status == 0)
        status = delete_all(&context);
    context_close(&context);
    return status;
}

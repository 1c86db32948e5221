/* sandlot gc: deletes what dead runs left behind. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "session/ledger.h"

#include <string.h>

enum { LOCK_WAIT_MS = 60 * 1000 };

struct collection {
    const struct options *options;
    struct json_object *results;
};

static void on_leftover(void *context, const char *provider, const char *id, const struct sandlot_error *problem)
{
    struct collection *collection = context;
    const char *code = problem && error_is_set(problem) ? sandlot_code_name(problem->code) : NULL;

    progress_end();
    if (!collection->options->json && !code) {
        AUTO_FREE char *line = text_format("%s %s", provider, id ? id : "-");

        output_line(line);
    }
    if (!collection->options->json && code && id)
        progress_line("sandlot: %s of '%s' is still there: %s", id, provider, problem->message);
    else if (!collection->options->json && code)
        progress_line("sandlot: a sandbox of '%s' may still be there: %s", provider, problem->message);
    struct json_object *result = json_object_new_object();

    json_object_object_add(result, "id", json_text(id));
    json_object_object_add(result, "provider", json_text(provider));
    json_object_object_add(result, "error", code ? json_object_new_string(code) : NULL);
    if (code)
        json_object_object_add(result, "message", json_text(problem->message));
    json_object_array_add(collection->results, result);
}

/* Removes RECORD from the ledger, unless a running process answers for its sandbox. */
static int forget_record(struct collection *collection, const struct ledger_record *record, struct sandlot_error *error)
{
    if (!record->kept && ledger_owner_alive(record))
        return error_set(error, SANDLOT_CODE_PROVIDER_ERROR,
                         "the sandbox %s is in use by the process %ld and was not forgotten; end that first",
                         record->id ? record->id : record->label, (long)record->owner);
    if (ledger_remove(record->label, error) < 0)
        return -1;
    log_warning("the sandbox %s of '%s' is forgotten; if it still runs nothing here will end it any more, and it costs "
                "what it costs until its vendor ends it: look there for the label %s",
                record->id ? record->id : "without an id", record->provider, record->label);
    on_leftover(collection, record->provider, record->id, NULL);
    return 0;
}

/* ID is that of a sandbox, or the label of one whose id was never heard. */
static int forget(struct collection *collection, const char *id, struct sandlot_error *error)
{
    struct ledger_record **records;
    size_t count;
    size_t found = 0;
    int result = 0;

    if (ledger_read(&records, &count, error) < 0)
        return -1;
    for (size_t i = 0; i < count && result == 0; i++) {
        if (strcmp(records[i]->label, id) != 0 && (!records[i]->id || strcmp(records[i]->id, id) != 0))
            continue;
        found++;
        result = forget_record(collection, records[i], error);
    }
    ledger_free_records(records, count);
    if (found)
        return result;
    error_set(error, SANDLOT_CODE_SANDBOX_NOT_FOUND, "nothing was forgotten: the ledger knows no sandbox %s", id);
    owner_advise_ledger(id, error);
    return -1;
}

/* Not while another `gc` or a sweep deletes what is to be forgotten. */
static int forget_all(const struct context *context, struct collection *collection, struct sandlot_error *error)
{
    AUTO_CLOSE int lock =
        ledger_lock("gc", sandlot_now_ms() + LOCK_WAIT_MS, cancellation_fd(context->cancellation), error);
    int result = lock < 0 ? -1 : 0;

    for (const char **id = context->options->forgotten; *id && result == 0; id++)
        result = forget(collection, *id, error);
    return result;
}

static int collect(const struct context *context)
{
    struct collection collection = {context->options, json_object_new_array()};
    struct sandlot_error error = {0};
    int outcome = 0;

    if (context->options->given & OPTION_FORGET) {
        outcome = forget_all(context, &collection, &error);
    } else {
        progress_begin("Looking for sandboxes that dead runs left behind");
        outcome = sandlot_collect_garbage(context->sandlot, on_leftover, &collection, context->cancellation, &error);
        progress_end();
    }
    if (context->options->json) {
        struct json_object *object = json_object_new_object();

        if (outcome < 0)
            report_error_in(object, &error);
        json_object_object_add(object, "results", json_object_get(collection.results));
        output_json(object);
    } else if (outcome < 0) {
        progress_line("sandlot: %s", error.message);
    }
    int status = outcome < 0 ? error_exit_status(error.code) : 0;

    json_object_put(collection.results);
    sandlot_error_clear(&error);
    return context_status(status);
}

int command_gc(const struct options *options)
{
    struct context context;
    int status = context_open(&context, options);

    if (status == 0)
        status = collect(&context);
    context_close(&context);
    return status;
}

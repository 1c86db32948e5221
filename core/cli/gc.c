/* sandlot gc: deletes what dead runs left behind. */
#include "base/error.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/output.h"
#include "cli/progress.h"

struct collection {
    const struct options *options;
    struct json_object *results;
};

static void on_leftover(void *context, const char *provider, const char *id, const struct sandlot_error *problem)
{
    struct collection *collection = context;
    bool failed = error_is_set(problem);

    progress_end();
    if (!collection->options->json && !failed)
        output_format("%s %s\n", provider, id ? id : "-");
    if (!collection->options->json && failed && id)
        progress_line("sandlot: %s of '%s' is still there: %s", id, provider, problem->message);
    else if (!collection->options->json && failed)
        progress_line("sandlot: a sandbox of '%s' may still be there: %s", provider, problem->message);
    struct json_object *result = json_object_new_object();

    json_object_object_add(result, "id", json_text(id));
    json_object_object_add(result, "provider", json_text(provider));
    json_object_object_add(result, "error", failed ? json_object_new_string(sandlot_code_name(problem->code)) : NULL);
    if (failed)
        json_object_object_add(result, "message", json_text(problem->message));
    json_object_array_add(collection->results, result);
}

static int collect(const struct context *context)
{
    struct collection collection = {context->options, json_object_new_array()};
    struct sandlot_error error = {0};

    progress_begin("Looking for sandboxes that dead runs left behind");
    int outcome = sandlot_collect_garbage(context->sandlot, on_leftover, &collection, context->cancellation, &error);

    progress_end();
    if (context->options->json) {
        struct json_object *object = json_object_new_object();

        if (outcome < 0)
            json_add_error(object, &error);
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

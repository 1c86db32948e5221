/* sandlot delete: ends sandboxes. */
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/context.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/signals.h"

/* What has become of the ids so far. */
struct deletion {
    struct json_object *results;
    struct sandlot_error worst; /* the first of those with the highest exit status */
};

static void add_result(struct deletion *deletion, const char *id, struct sandlot_error *error)
{
    struct json_object *result = json_object_new_object();
    bool failed = error_is_set(error);

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
}

static void delete_one(const struct context *context, const char *id, struct deletion *deletion)
{
    const struct options *options = context->options;
    struct sandlot_target target = context_target(context);
    struct sandlot_error error = {0};

    progress_begin("Deleting sandbox %s", id);
    int outcome = sandlot_delete(context->sandlot, &target, id, &error);

    progress_end();
    if (outcome < 0 && !options->json && error_exit_status(error.code) != 2)
        progress_line("sandlot: %s", error.message);
    else if (outcome == 0 && !options->json)
        output_format("%s\n", id);
    add_result(deletion, id, &error);
    sandlot_error_clear(&error);
}

static bool print_json(const struct options *options, struct deletion *deletion)
{
    struct json_object *object = json_object_new_object();

    if (error_is_set(&deletion->worst))
        json_add_error(object, &deletion->worst);
    if (options->argument_count > 1)
        json_object_object_add(object, "results", json_object_get(deletion->results));
    else if (!error_is_set(&deletion->worst))
        json_object_object_add(object, "deleted", json_text(options->arguments[0]));
    return output_json(object);
}

static int delete_all(const struct context *context)
{
    const struct options *options = context->options;
    struct deletion deletion = {.results = json_object_new_array()};

    int status = 0;

    /* A bad parameter is one for every id: nothing is sent, and it is said once. */
    for (size_t i = 0; i < options->argument_count && status != 2 && !signals_received(); i++) {
        delete_one(context, options->arguments[i], &deletion);
        status = error_exit_status(deletion.worst.code);
    }
    if (status == 2)
        status = report_error(options, &deletion.worst);
    else if (options->json)
        print_json(options, &deletion);
    json_object_put(deletion.results);
    sandlot_error_clear(&deletion.worst);
    return context_status(status);
}

int command_delete(const struct options *options)
{
    struct context context;

    for (size_t i = 0; i < options->argument_count; i++)
        if (!*options->arguments[i])
            return usage_error(options->command, "an id is empty; 'sandlot list' prints those there are");
    int status = context_open(&context, options);

    if (status == 0)
        status = context_resolve(&context);
    if (status == 0)
        status = delete_all(&context);
    context_close(&context);
    return status;
}

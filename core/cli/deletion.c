#include "cli/deletion.h"

#include "base/error.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/usage.h"

int deletion_with_provider(const struct options *options, int (*work)(const struct context *context))
{
    struct context context;
    int status = context_open(&context, options);

    if (status == 0)
        status = context_resolve(&context);
    if (status == 0)
        status = context_status(work(&context));
    context_close(&context);
    return status;
}

/* One result; the worst error so far is kept. */
static void delete_one(const struct context *context, const struct deletion *deletion, const char *name,
                       struct json_object *results, struct sandlot_error *worst)
{
    const struct sandlot_target target = context_target(context);
    struct json_object *result = json_object_new_object();
    struct sandlot_error error = {0};

    progress_begin("Deleting the %s %s", deletion->what, name);
    int failed = deletion->delete (context_sandlot(context), &target, name, &error);

    progress_end();
    json_object_object_add(result, deletion->key, json_text(name));
    json_object_object_add(result, "error", failed ? json_object_new_string(sandlot_code_name(error.code)) : NULL);
    if (failed)
        json_object_object_add(result, "message", json_text(error.message));
    json_object_array_add(results, result);
    if (failed && !context->options->json && error_exit_status(error.code) != 2)
        progress_line("sandlot: %s", error.message);
    if (failed && error_exit_status(error.code) > error_exit_status(worst->code)) {
        sandlot_error_clear(worst);
        *worst = error;
        return;
    }
    sandlot_error_clear(&error);
}

static int delete_all(const struct context *context, const struct deletion *deletion)
{
    const struct options *options = context->options;
    struct json_object *results = json_object_new_array();
    struct sandlot_error worst = {0};

    for (size_t i = 0; i < options->argument_count && !signals_received() && error_exit_status(worst.code) != 2; i++)
        delete_one(context, deletion, options->arguments[i], results, &worst);
    int status = error_exit_status(worst.code);

    if (status == 2) {
        report_error(options, &worst);
    } else if (options->json) {
        struct json_object *object = json_object_new_object();

        if (error_is_set(&worst))
            report_error_in(object, &worst);
        json_object_object_add(object, "results", json_object_get(results));
        output_json(object);
    }
    json_object_put(results);
    sandlot_error_clear(&worst);
    return status;
}

int deletion_command(const struct options *options, const struct deletion *deletion)
{
    struct context context;

    for (size_t i = 0; i < options->argument_count; i++)
        if (!*options->arguments[i])
            return usage_error(options->command, "a name is empty; 'sandlot %ss' prints those there are",
                               deletion->what);
    int status = context_open(&context, options);

    if (status == 0)
        status = context_resolve(&context);
    if (status == 0)
        status = context_status(delete_all(&context, deletion));
    context_close(&context);
    return status;
}

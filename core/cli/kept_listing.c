#include "cli/kept_listing.h"

#include "cli/progress.h"

static void print_array(const struct kept_kind *kind, struct json_object *array)
{
    struct json_object *object = json_object_new_object();

    json_object_object_add(object, kind->what, array);
    output_json(object);
}

static void print(const struct options *options, const struct kept_kind *kind, struct kept_listing *listing)
{
    if (listing->array)
        print_array(kind, json_object_get(listing->array));
    else if (listing->table.count > 0)
        table_print(&listing->table);
    else if (options->verbosity >= 0)
        progress_line("sandlot: there are no %s; %s", kind->what, kind->advice);
}

int kept_list(const struct context *context, const struct kept_kind *kind)
{
    const struct options *options = context->options;
    const struct sandlot_target target = context_target(context);
    struct kept_listing listing = {.array = options->json ? json_object_new_array() : NULL,
                                   .table = {.columns = kind->columns}};
    struct sandlot_error error = {0};

    progress_begin("Asking '%s' for its %s", context->provider, kind->what);
    int failed = kind->ask(context_sandlot(context), &target, &listing, &error);

    progress_end();
    if (!failed)
        print(options, kind, &listing);
    json_object_put(listing.array);
    table_clear(&listing.table);
    int status = failed ? report_error(options, &error) : 0;

    sandlot_error_clear(&error);
    return status;
}

/* sandlot import: a folder of this machine becomes what a sandbox's work begins with. */
#include "results/import.h"

#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/results_command.h"
#include "cli/usage.h"

static void on_progress(void *context, uint64_t done, uint64_t total)
{
    (void)context;
    progress_transfer(done, total);
}

static int work(const struct context *context, struct sandlot_session *session, const void *input,
                struct answer *answer, struct sandlot_error *error)
{
    const struct results_words *words = input;
    const struct import_request request = {.folder = words->rest[0],
                                           .exclude = context->options->excluded,
                                           .progress = on_progress,
                                           .cancellation = context->cancellation};
    struct import_count count;

    progress_begin("Uploading %s", words->rest[0]);
    int failed = import_folder(session, &request, &count, error);

    progress_end();
    if (failed)
        return -1;
    answer->object = json_object_new_object();
    json_object_object_add(answer->object, "id", json_text(sandlot_session_id(session)));
    json_object_object_add(answer->object, "files", json_object_new_int64((int64_t)count.files));
    json_object_object_add(answer->object, "bytes", json_object_new_int64((int64_t)count.bytes));
    return 0;
}

int command_import(const struct options *options)
{
    size_t most = options->sandbox_id || options->scope ? 1 : 2;

    if (options->argument_count > most)
        return usage_error(options->command, "there is more than one folder: '%s'", options->arguments[most]);
    return results_command(options, 1, work);
}

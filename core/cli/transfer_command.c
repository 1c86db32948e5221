#include "cli/transfer_command.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/file_command.h"
#include "cli/output.h"
#include "cli/progress.h"

#include <string.h>

/* What the files have come to so far. */
struct outcome {
    const struct options *options;
    enum transfer_direction direction;
    struct json_object *results;
    char *lines; /* for people, one per file */
    bool to_standard_output;
    bool told; /* of a problem */
};

static void add_result(struct outcome *outcome, const char *path, const struct sandlot_error *problem, uint64_t bytes)
{
    struct json_object *result = json_object_new_object();

    json_add_path(result, path);
    json_object_object_add(result, "error", problem ? json_object_new_string(sandlot_code_name(problem->code)) : NULL);
    json_object_object_add(result, "bytes", json_object_new_int64((int64_t)bytes));
    if (problem)
        json_object_object_add(result, "message", json_text(problem->message));
    json_object_array_add(outcome->results, result);
}

/* A name in a sandbox may hold line ends, so that one file looks like several. */
static void add_line(struct outcome *outcome, const char *path, uint64_t bytes)
{
    bool upload = outcome->direction == TRANSFER_UPLOAD;
    AUTO_FREE char *name = text_visible(path);

    text_append(&outcome->lines, "%s %s (%llu bytes)\n", upload ? "Uploaded" : "Downloaded", name ? name : "?",
                (unsigned long long)bytes);
}

static void on_done(void *context, size_t index, const char *path, const struct sandlot_error *problem, uint64_t bytes)
{
    struct outcome *outcome = context;

    (void)index;
    if (outcome->options->json)
        add_result(outcome, path, problem, bytes);
    else if (problem) {
        progress_line("sandlot: %s", problem->message);
        outcome->told = true;
    } else if (!outcome->to_standard_output)
        add_line(outcome, path, bytes);
}

static void on_progress(void *context, uint64_t done, uint64_t total)
{
    const struct outcome *outcome = context;

    progress_report(NULL, outcome->direction == TRANSFER_UPLOAD ? "uploading" : "downloading", done, total);
}

/* "-" is standard input or output. */
static void set_local(struct sandlot_transfer_item *item, const char *local, enum transfer_direction direction)
{
    if (strcmp(local, "-") != 0)
        item->local_path = local;
    else
        item->fd = direction == TRANSFER_UPLOAD ? STDIN_FILENO : STDOUT_FILENO;
}

static int transfer(const struct context *context, struct sandlot_session *session, struct answer *answer,
                    struct sandlot_error *error, enum transfer_direction direction)
{
    const struct options *options = context->options;
    size_t count = options->argument_count / 2;
    AUTO_FREE struct sandlot_transfer_item *items = calloc(count, sizeof(*items));
    struct outcome outcome = {.options = options, .direction = direction, .results = json_object_new_array()};
    const struct sandlot_transfer_request request = {.size = sizeof(request),
                                                     .items = items,
                                                     .count = count,
                                                     .recursive = options->given & OPTION_RECURSIVE,
                                                     .done = on_done,
                                                     .progress = on_progress,
                                                     .context = &outcome,
                                                     .cancellation = context->cancellation};

    for (size_t i = 0; items && i < count; i++) {
        char *const *pair = options->arguments + 2 * i;
        bool upload = direction == TRANSFER_UPLOAD;

        items[i] = (struct sandlot_transfer_item){.size = sizeof(items[i]), .path = pair[upload ? 1 : 0]};
        set_local(&items[i], pair[upload ? 0 : 1], direction);
        outcome.to_standard_output = outcome.to_standard_output || (!upload && !items[i].local_path);
    }
    progress_begin("%s", direction == TRANSFER_UPLOAD ? "Uploading" : "Downloading");
    int failed = !items                         ? error_no_memory(error)
                 : direction == TRANSFER_UPLOAD ? sandlot_upload(session, &request, error)
                                                : sandlot_download(session, &request, error);

    progress_end();
    answer->object = json_object_new_object();
    json_object_object_add(answer->object, "results", outcome.results);
    answer->told = outcome.told;
    answer->text = outcome.lines;
    answer->length = outcome.lines ? strlen(outcome.lines) : 0;
    return failed;
}

static int work_upload(const struct context *context, struct sandlot_session *session, const void *input,
                       struct answer *answer, struct sandlot_error *error)
{
    (void)input;
    return transfer(context, session, answer, error, TRANSFER_UPLOAD);
}

static int work_download(const struct context *context, struct sandlot_session *session, const void *input,
                         struct answer *answer, struct sandlot_error *error)
{
    (void)input;
    return transfer(context, session, answer, error, TRANSFER_DOWNLOAD);
}

static int check(const struct options *options, enum transfer_direction direction)
{
    bool upload = direction == TRANSFER_UPLOAD;

    if (options->argument_count % 2)
        return usage_error(options->command, "the arguments are pairs of %s, but '%s' has no partner",
                           upload ? "LOCAL and REMOTE" : "REMOTE and LOCAL",
                           options->arguments[options->argument_count - 1]);
    for (size_t i = 0; i < options->argument_count; i++) {
        bool local = (i % 2 == 0) == upload;

        if (local && !*options->arguments[i])
            return usage_error(options->command, "a local path is empty");
        if (local && !upload && options->json && strcmp(options->arguments[i], "-") == 0)
            return usage_error(options->command, "--json and a download to standard output exclude each other");
    }
    return 0;
}

int transfer_command(const struct options *options, enum transfer_direction direction)
{
    int status = check(options, direction);

    return status ? status : file_command(options, direction == TRANSFER_UPLOAD ? work_upload : work_download, NULL);
}

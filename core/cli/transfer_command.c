#include "cli/transfer_command.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/file_command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/usage.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What the files have come to so far. */
struct outcome {
    const struct options *options;
    enum transfer_direction direction;
    struct json_object *results;
    FILE *lines; /* for people, one per file */
    bool to_standard_output;
    bool told;    /* of a problem */
    bool changed; /* a file is in the sandbox */
    const struct sandlot_transfer_item *items;
    size_t *places; /* of each item whose path is a folder, which takes it by its name: 1 and the place of its result */
    bool has_folders;
    bool second_round;          /* into those folders */
    struct sandlot_error first; /* of the files for which that is not so */
};

static void add_result(struct outcome *outcome, size_t index, const char *path, const struct sandlot_error *problem,
                       uint64_t bytes)
{
    struct json_object *result = json_object_new_object();

    json_add_path(result, path);
    json_object_object_add(result, "error", problem ? json_object_new_string(sandlot_code_name(problem->code)) : NULL);
    json_object_object_add(result, "bytes", json_object_new_int64((int64_t)bytes));
    if (problem)
        json_object_object_add(result, "message", json_text(problem->message));
    if (outcome->second_round)
        json_object_array_put_idx(outcome->results, outcome->places[index] - 1, result);
    else
        json_object_array_add(outcome->results, result);
}

/* A name in a sandbox may hold line ends, so that one file looks like several. */
static void add_line(struct outcome *outcome, const char *path, uint64_t bytes)
{
    bool upload = outcome->direction == TRANSFER_UPLOAD;
    AUTO_FREE char *name = text_visible(path);

    fprintf(outcome->lines, "%s %s (%llu bytes)\n", upload ? "Uploaded" : "Downloaded", name ? name : "?",
            (unsigned long long)bytes);
}

static bool is_local_file(const char *path)
{
    struct stat status;

    return path && stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static void on_done(void *context, size_t index, const char *path, const struct sandlot_error *problem, uint64_t bytes)
{
    struct outcome *outcome = context;

    if (problem && problem->code == SANDLOT_CODE_IS_DIRECTORY && outcome->direction == TRANSFER_UPLOAD &&
        !outcome->second_round && is_local_file(outcome->items[index].local_path)) {
        json_object_array_add(outcome->results, NULL);
        outcome->places[index] = json_object_array_length(outcome->results);
        outcome->has_folders = true;
        return;
    }
    if (problem && !error_is_set(&outcome->first))
        error_set(&outcome->first, problem->code, "%s", problem->message);
    outcome->changed = outcome->changed || (!problem && outcome->direction == TRANSFER_UPLOAD);
    if (outcome->options->json)
        add_result(outcome, index, path, problem, bytes);
    else if (problem) {
        progress_line("sandlot: %s", problem->message);
        outcome->told = true;
    } else if (!outcome->to_standard_output)
        add_line(outcome, path, bytes);
}

static void on_progress(void *context, uint64_t done, uint64_t total)
{
    (void)context;
    progress_transfer(done, total);
}

/* A relative path begins at the working directory; to be freed. What is refused in either form stays as it is. */
static char *absolute_path(const struct sandlot_session *session, const char *path)
{
    const char *base = sandlot_session_working_dir(session);

    while (strncmp(path, "./", 2) == 0)
        path += 2;
    if (*path == '/' || *path == '~' || !*path)
        return strdup(path);
    return text_format("%s/%s", strcmp(base, "/") == 0 ? "" : base, strcmp(path, ".") == 0 ? "" : path);
}

/* Where LOCAL goes in the folder FOLDER; to be freed. */
static char *path_in_folder(const char *folder, const char *local)
{
    const char *slash = strrchr(local, '/');
    size_t length = strlen(folder);

    return text_format("%s%s%s", folder, length && folder[length - 1] == '/' ? "" : "/", slash ? slash + 1 : local);
}

/* A folder that is written with a "/" at its end takes the file LOCAL under its name; PATH is freed, what comes back is
 * to be. */
static char *target_path(const char *local, char *path)
{
    AUTO_FREE char *given = path;
    size_t length = given ? strlen(given) : 0;

    return length && given[length - 1] == '/' && is_local_file(local) ? path_in_folder(given, local) : TAKE(given);
}

/* "-" is standard input or output. */
static void set_local(struct sandlot_transfer_item *item, const char *local, enum transfer_direction direction)
{
    if (strcmp(local, "-") != 0)
        item->local_path = local;
    else
        item->fd = direction == TRANSFER_UPLOAD ? STDIN_FILENO : STDOUT_FILENO;
}

/* The paths of the arguments into ITEMS and PATHS. */
static void read_arguments(const struct sandlot_session *session, struct outcome *outcome,
                           struct sandlot_transfer_item *items, char **paths)
{
    const struct options *options = outcome->options;
    bool upload = outcome->direction == TRANSFER_UPLOAD;

    for (size_t i = 0; i < options->argument_count / 2; i++) {
        char *const *pair = options->arguments + 2 * i;
        char *path = absolute_path(session, pair[upload ? 1 : 0]);

        paths[i] = upload ? target_path(pair[0], path) : path;
        items[i] = (struct sandlot_transfer_item){.size = sizeof(items[i]), .path = paths[i] ? paths[i] : ""};
        set_local(&items[i], pair[upload ? 0 : 1], outcome->direction);
        outcome->to_standard_output = outcome->to_standard_output || (!upload && !items[i].local_path);
    }
}

/* As cp(1) does it. Only the service can tell a folder from a file, and so it is asked by the upload itself, which else
 * would cost a request more each time. ERROR is that of the first round. */
static int upload_into_folders(struct sandlot_session *session, struct sandlot_transfer_request *request,
                               struct sandlot_transfer_item *items, char **paths, struct sandlot_error *error)
{
    struct outcome *outcome = request->context;
    size_t count = 0;

    outcome->second_round = true;
    for (size_t i = 0; i < request->count; i++) {
        if (!outcome->places[i])
            continue;
        char *path = path_in_folder(items[i].path, items[i].local_path);

        free(paths[i]);
        paths[i] = path;
        outcome->places[count] = outcome->places[i];
        items[count] = items[i];
        items[count++].path = path ? path : "";
    }
    request->count = count;
    sandlot_error_clear(error);
    *error = outcome->first;
    outcome->first = (struct sandlot_error){0};
    struct sandlot_error later = {0};
    int failed = sandlot_upload(session, request, &later);

    if (error_is_set(error))
        sandlot_error_clear(&later);
    else
        *error = later;
    return error_is_set(error) ? -1 : failed;
}

static int transfer(const struct context *context, struct sandlot_session *session, struct answer *answer,
                    struct sandlot_error *error, enum transfer_direction direction)
{
    const struct options *options = context->options;
    bool upload = direction == TRANSFER_UPLOAD;
    size_t count = options->argument_count / 2;
    AUTO_FREE struct sandlot_transfer_item *items = calloc(count, sizeof(*items));
    AUTO_FREE char **paths = calloc(count, sizeof(*paths));
    AUTO_FREE size_t *places = calloc(count, sizeof(*places));
    AUTO_FILE FILE *lines = open_memstream(&answer->text, &answer->length);

    if (!items || !paths || !places || !lines)
        return error_no_memory(error);
    struct outcome outcome = {.options = options,
                              .direction = direction,
                              .results = json_object_new_array(),
                              .lines = lines,
                              .items = items,
                              .places = places};
    struct sandlot_transfer_request request = {.size = sizeof(request),
                                               .items = items,
                                               .count = count,
                                               .recursive = options->given & OPTION_RECURSIVE,
                                               .max_bytes = options->max_bytes,
                                               .done = on_done,
                                               .progress = on_progress,
                                               .context = &outcome,
                                               .cancellation = context->cancellation};

    read_arguments(session, &outcome, items, paths);
    progress_begin("%s", upload ? "Uploading" : "Downloading");
    int failed = upload ? sandlot_upload(session, &request, error) : sandlot_download(session, &request, error);

    if (outcome.has_folders)
        failed = upload_into_folders(session, &request, items, paths, error);
    progress_end();
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    sandlot_error_clear(&outcome.first);
    answer->object = json_object_new_object();
    json_object_object_add(answer->object, "results", outcome.results);
    answer->told = outcome.told;
    answer->changed = outcome.changed;
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

    if (upload && options->given & OPTION_MAX_BYTES)
        return usage_error(options->command,
                           "--max-bytes is for what comes out of a sandbox, not for what goes into it");
    if (options->argument_count % 2)
        return usage_error(options->command, "the arguments are pairs of %s, but '%s' has no partner",
                           upload ? "LOCAL and REMOTE" : "REMOTE and LOCAL",
                           options->arguments[options->argument_count - 1]);
    for (size_t i = 0; i < options->argument_count; i++) {
        bool local = (i % 2 == 0) == upload;
        bool to_output = local && !upload && strcmp(options->arguments[i], "-") == 0;

        if (local && !*options->arguments[i])
            return usage_error(options->command, "a local path is empty");
        if (to_output && options->json)
            return usage_error(options->command, "--json and a download to standard output exclude each other");
        if (to_output && isatty(STDOUT_FILENO) == 1)
            return usage_error(options->command,
                               "the bytes of a sandbox would go to your terminal as they are: name a file, redirect "
                               "them, or look at them with 'sandlot read'");
    }
    return 0;
}

int transfer_command(const struct options *options, enum transfer_direction direction)
{
    int status = check(options, direction);

    return status ? status : file_command(options, direction == TRANSFER_UPLOAD ? work_upload : work_download, NULL);
}

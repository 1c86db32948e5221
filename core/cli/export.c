/* sandlot export: what a sandbox has changed, as a patch or an archive. */
#include "results/export.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/results_command.h"
#include "cli/usage.h"
#include "operations/local_file.h"

#include <errno.h>
#include <string.h>

static enum sandlot_export_format format_of(const struct options *options)
{
    const char *output = options->output ? options->output : "";
    size_t length = strlen(output);

    if (options->format)
        return strcmp(options->format, "tar") == 0 ? SANDLOT_EXPORT_TAR : SANDLOT_EXPORT_PATCH;
    return length >= 4 && strcmp(output + length - 4, ".tar") == 0 ? SANDLOT_EXPORT_TAR : SANDLOT_EXPORT_PATCH;
}

static bool to_standard_output(void *context, const void *bytes, size_t length)
{
    (void)context;
    return output_write(bytes, length);
}

struct sink {
    int fd;
    int reason;
};

static bool to_file(void *context, const void *bytes, size_t length)
{
    struct sink *sink = context;

    if (local_write(sink->fd, bytes, length) < 0)
        sink->reason = errno;
    return !sink->reason;
}

/* As `download` has it: a file gets its name when it is whole, and keeps its mode; a link, a pipe and a device stay. */
static int write_named(struct results *results, const struct options *options, struct sandlot_error *error)
{
    struct local_file file CLEANUP(local_close);

    local_init(&file);
    if (local_open_target(&file, options->output, ".", error) < 0)
        return -1;
    struct sink sink = {.fd = file.fd};

    if (export_write(results, format_of(options), false, to_file, &sink, error) < 0)
        return -1;
    if (sink.reason)
        return error_set(error, sink.reason == ENOSPC ? SANDLOT_CODE_NO_SPACE : SANDLOT_CODE_PERMISSION_DENIED,
                         "%s cannot be written: %s", options->output, strerror(sink.reason));
    return local_commit(&file, options->output, error);
}

static int print_warnings(const struct results *results, struct sandlot_error *error)
{
    for (size_t i = 0; i < results->count; i++) {
        AUTO_FREE char *line = results_warning(&results->changes[i]);

        if (!line)
            return error_no_memory(error);
        line[strcspn(line, "\n")] = '\0';
        if (*line)
            progress_line("%s", line);
    }
    return 0;
}

static int write_out(const struct context *context, struct results *results, struct answer *answer,
                     struct sandlot_error *error)
{
    const struct options *options = context->options;

    progress_end();
    if (!options->json && print_warnings(results, error) < 0)
        return -1;
    if (!options->output)
        return export_write(results, format_of(options), false, to_standard_output, NULL, error);
    if (write_named(results, options, error) < 0)
        return -1;
    answer->object = json_object_new_object();
    json_object_object_add(answer->object, "path", json_text(options->output));
    json_object_object_add(answer->object, "format",
                           json_text(format_of(options) == SANDLOT_EXPORT_TAR ? "tar" : "patch"));
    return results_add_changes(answer->object, results, error);
}

static int work(const struct context *context, struct sandlot_session *session, const void *input,
                struct answer *answer, struct sandlot_error *error)
{
    const struct results_words *words = input;
    const struct sandlot_changes_request request = results_request(context, words->rest);
    bool patch = format_of(context->options) == SANDLOT_EXPORT_PATCH;
    struct results results;

    progress_begin("Comparing");
    int failed = results_gather(session, &request, patch ? JUDGE_PATCH : JUDGE_ALL, patch, &results, error);

    if (!failed)
        failed = write_out(context, &results, answer, error);
    progress_end();
    results_clear(&results);
    return failed;
}

int command_export(const struct options *options)
{
    const char *format = options->format;

    if (format && strcmp(format, "patch") != 0 && strcmp(format, "tar") != 0)
        return usage_error(options->command, "--format is 'patch' or 'tar', not '%s'", format);
    if (options->json && !options->output)
        return usage_error(options->command, "--json needs --output FILE: standard output cannot hold both");
    if (!options->output && isatty(STDOUT_FILENO) == 1)
        return usage_error(options->command,
                           "this would go to your terminal: name a file with --output FILE, redirect it, or look at it "
                           "with 'sandlot diff'");
    return results_command(options, 0, work);
}

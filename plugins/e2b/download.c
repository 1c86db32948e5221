/*
 * GET /files answers with a file's bytes. What it says when there are none differs; so the sandbox itself is asked what
 * is the matter with the file. What the kernel shows of itself has a length of 0 there, and comes by a command.
 */
#include "command.h"
#include "files.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/printed_download.h>
#include <sandlot/sdk/quoting.h>

#include <string.h>

enum { READING_MS = 600 * 1000 };

/* Looks for the reason of a refusal in the sandbox. *EXPLAINED: it is the file's, and was told. */
static enum sandlot_status explain(struct sandlot_call *call, struct sandbox *sandbox, const struct sandlot_file *file,
                                   size_t index, const struct sandlot_transfer *transfer, bool *explained)
{
    const struct script_place place = {.provider = sandbox->e2b, .sandbox = sandbox, .execute = command_execute};
    char word[PRINTED_DOWNLOAD_WORD];
    enum sandlot_status status = printed_download_why(call, &place, file->path, word);

    *explained = status == SANDLOT_OK && *word;
    if (*explained)
        transfer->done(transfer, index, word, 0);
    return status;
}

static enum sandlot_status fetch(struct sandlot_call *call, struct sandbox *sandbox, const struct sandlot_file *file,
                                 struct http_response *response)
{
    AUTO_WAY struct sandbox_way way;

    sandbox_find_files(call, sandbox, file->path, &way);
    const struct http_request request = {
        .method = "GET", .target = way.target, .headers = way.headers, .sink = file->sink};

    return http_send(call, sandbox->e2b->daemons, &request, response);
}

static enum sandlot_status download_one(struct sandlot_call *call, struct sandbox *sandbox,
                                        const struct sandlot_file *file, size_t index,
                                        const struct sandlot_transfer *transfer)
{
    for (int attempt = 1;; attempt++) {
        AUTO_RESPONSE struct http_response response = {0};
        struct attempt first;
        bool explained = false;
        enum sandlot_status after;

        attempt_begin(&first, call, 0);
        enum sandlot_status status = fetch(&first.call, sandbox, file, &response);
        int said = response.status;

        if (status == SANDLOT_OK) {
            transfer->done(transfer, index, NULL, response.bytes);
            return SANDLOT_OK;
        }
        if (said == 400 || said == 403 || said == 404 || said == 500)
            after = explain(call, sandbox, file, index, transfer, &explained);
        else if (sandbox_may_sleep(said) && attempt == 1)
            after = sandbox_wake(call, sandbox);
        else
            return attempt_fail(&first, status);
        if (explained || after != SANDLOT_OK)
            return after;
        if (attempt > 1)
            return attempt_fail(&first, status);
    }
}

/* ---- what has no length ------------------------------------------------------------------------------------------ */

struct counted {
    const struct sandlot_sink *own;
    uint64_t bytes;
};

static enum sandlot_status write_counted(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct counted *counted = sink->context;

    counted->bytes += length;
    return counted->own->write(counted->own, bytes, length);
}

static bool is_of_kernel(const char *path)
{
    return strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/sys/", 5) == 0;
}

static enum sandlot_status read_by_command(struct sandlot_call *call, struct sandbox *sandbox,
                                           const struct sandlot_file *file, size_t index,
                                           const struct sandlot_transfer *transfer)
{
    struct counted counted = {.own = file->sink};
    const struct sandlot_sink sink = {sizeof(sink), &counted, write_counted};
    AUTO_FREE char *quoted = shell_word(file->path);
    AUTO_FREE char *line = NULL;
    struct sandlot_exit result = {.size = sizeof(result)};
    bool explained = false;

    if (!quoted || asprintf(&line, "cat <%s 2>/dev/null", quoted) < 0)
        return http_no_memory(call);
    const struct sandlot_command command = {
        .size = sizeof(command), .command = line, .working_dir = "/", .timeout_ms = READING_MS};
    enum sandlot_status status = command_execute(call, sandbox->e2b, sandbox, &command, &sink, &result);

    if (status == SANDLOT_OK && result.exit_code != 0)
        status = explain(call, sandbox, file, index, transfer, &explained);
    if (status == SANDLOT_OK && !explained)
        transfer->done(transfer, index, result.exit_code ? "it cannot be read to its end" : NULL, counted.bytes);
    return status;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static enum sandlot_status download_either_way(struct sandlot_call *call, void *sandbox,
                                               const struct sandlot_file *file, size_t index,
                                               const struct sandlot_transfer *transfer)
{
    return is_of_kernel(file->path) ? read_by_command(call, sandbox, file, index, transfer)
                                    : download_one(call, sandbox, file, index, transfer);
}

PRINTED_DOWNLOAD(download_files, command_execute, .one = download_either_way, .least = 16, .utf8 = true)

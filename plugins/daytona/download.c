#include "download.h"

#include "command.h"

#include "multipart.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/batch.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/printed_download.h>
#include <sandlot/sdk/text_format.h>

#include <string.h>

enum { WORDS_SIZE = 400 };

/* ---- errors of files ------------------------------------------------------------------------------------------ */

/*
 * One of the standard codes, or the service's own words in WORDS. Daemons before 2026 say nothing but the status, and
 * newer ones may leave out the code.
 */
static const char *file_error(int status, const char *code, const char *message, char words[WORDS_SIZE])
{
    code = code ? code : "";
    message = message ? message : "";
    if (strcasestr(message, "not a directory") || strcasestr(message, "too many levels"))
        return "invalid_path";
    if (strcmp(code, "FILE_NOT_FOUND") == 0 || status == 404)
        return "file_not_found";
    if (strcmp(code, "FILE_ACCESS_DENIED") == 0 || status == 403)
        return "permission_denied";
    if (status == 400 || strcmp(code, "INVALID_FILE_PATH") == 0)
        return *message && !strcasestr(message, "directory") ? "invalid_path" : "is_directory";
    snprintf(words, WORDS_SIZE, "Daytona could not read it (%s)", *message ? message : "it does not say why");
    return words;
}

/* The same of the JSON in which an error is told. */
static const char *told_error(int status, const char *text, size_t length, char words[WORDS_SIZE])
{
    AUTO_DOCUMENT struct json_object *document = json_read_document(text, length, NULL);
    int64_t told_status = status;
    const char *code = NULL;
    const char *message = NULL;

    if (document) {
        json_find_integer(document, "statusCode", &told_status, NULL);
        json_find_string(document, "code", &code, NULL);
        json_find_string(document, "message", &message, NULL);
    }
    return file_error(told_status > 0 && told_status < 1000 ? (int)told_status : 0, code, message, words);
}

/* ---- one file ------------------------------------------------------------------------------------------------- */

static enum sandlot_status download_one(struct sandlot_call *call, struct sandbox *sandbox,
                                        const struct sandlot_file *file, const struct sandlot_transfer *transfer)
{
    AUTO_FREE char *target = http_target("/{}/files/download?path={}", sandbox->id, file->path);
    const struct http_request request = {.method = "GET", .target = target, .sink = file->sink};

    for (int attempt = 1;; attempt++) {
        AUTO_RESPONSE struct http_response response = {0};
        char words[WORDS_SIZE];
        enum sandlot_status status = http_send(call, sandbox->toolbox, &request, &response);

        if (status == SANDLOT_OK) {
            status = http_want_file(call, &response, "Daytona");
            if (status == SANDLOT_OK)
                transfer->done(transfer, 0, NULL, response.bytes);
            return status;
        }
        if (response.status >= 400 && sandbox_trouble(&response)) {
            if (attempt > 1)
                return status;
            status = sandbox_wake(call, sandbox);
            if (status != SANDLOT_OK)
                return status;
            continue;
        }
        if (response.status != 400 && response.status != 403 && response.status != 404)
            return status;
        transfer->done(transfer, 0, told_error(response.status, response.body, response.length, words), 0);
        return SANDLOT_OK;
    }
}

/* ---- several files -------------------------------------------------------------------------------------------- */

/* The parts come in the order in which the files were asked for. */
struct download {
    struct sandlot_call *call;
    const struct sandlot_file *files;
    size_t count;
    const struct sandlot_transfer *transfer;
    size_t index; /* of the file at hand */
    uint64_t bytes;
    bool is_file; /* the part at hand */
    char error[MULTIPART_TEXT];
    size_t error_length; /* of the part at hand, which is none */
};

static enum sandlot_status one_too_many(const struct download *download)
{
    return sandlot_fail(download->call, SANDLOT_INTERNAL,
                        "Daytona answered with more files than it was asked for; report it to Daytona");
}

static enum sandlot_status begin_part(void *context, const char *name, uint64_t length)
{
    struct download *download = context;

    (void)length;
    download->is_file = strcmp(name, "file") == 0;
    download->bytes = 0;
    download->error_length = 0;
    return download->index < download->count ? SANDLOT_OK : one_too_many(download);
}

static enum sandlot_status take_part(void *context, const void *bytes, size_t length)
{
    struct download *download = context;
    const struct sandlot_sink *sink = download->files[download->index].sink;
    size_t room = sizeof(download->error) - download->error_length;

    download->bytes += length;
    if (download->is_file)
        return sink->write(sink, bytes, length);
    length = length < room ? length : room;
    memcpy(download->error + download->error_length, bytes, length);
    download->error_length += length;
    return SANDLOT_OK;
}

static void tell_error(struct download *download, const char *text, size_t length)
{
    char words[WORDS_SIZE];

    download->transfer->done(download->transfer, download->index++, told_error(0, text, length, words), 0);
}

static enum sandlot_status end_part(void *context)
{
    struct download *download = context;

    if (download->is_file)
        download->transfer->done(download->transfer, download->index++, NULL, download->bytes);
    else
        tell_error(download, download->error, download->error_length);
    return SANDLOT_OK;
}

static enum sandlot_status take_error(void *context, const char *name, const char *text, size_t length)
{
    struct download *download = context;

    if (download->index >= download->count)
        return one_too_many(download);
    if (strcmp(name, "error") != 0)
        return sandlot_fail(download->call, SANDLOT_INTERNAL,
                            "Daytona's answer with files leaves out how long one is; report it to Daytona");
    tell_error(download, text, length);
    return SANDLOT_OK;
}

static char *make_body(const struct sandlot_file *files, size_t count, size_t *length)
{
    struct json_builder body = {0};

    for (size_t i = 0; i < count; i++)
        json_set_string(&body, "paths[]", files[i].path);
    return json_finish(&body, length);
}

/* *AGAIN: the toolbox had nothing to give because of the sandbox, which has been brought to run since. */
static enum sandlot_status download_some(struct sandlot_call *call, struct sandbox *sandbox, struct download *download,
                                         struct multipart *reader, bool *again)
{
    static const struct multipart_receiver receiver = {
        .begin = begin_part, .data = take_part, .end = end_part, .text = take_error};
    struct multipart_receiver parts = receiver;
    size_t length = 0;
    AUTO_FREE char *target = http_target("/{}/files/bulk-download", sandbox->id);
    AUTO_FREE char *body = make_body(download->files, download->count, &length);
    AUTO_RESPONSE struct http_response response = {0};
    const struct http_request request = {.method = "POST",
                                         .target = target,
                                         .type = "application/json",
                                         .body = {.bytes = body, .length = length},
                                         .repeatable = true,
                                         .sink = &reader->sink};

    *again = false;
    if (!body)
        return http_no_memory(call);
    parts.context = download;
    multipart_init(reader, call, &parts);
    enum sandlot_status status = http_send(call, sandbox->toolbox, &request, &response);

    if (status != SANDLOT_OK && response.status >= 400 && sandbox_trouble(&response)) {
        enum sandlot_status woken = sandbox_wake(call, sandbox);

        *again = woken == SANDLOT_OK; /* an error has passed nothing on */
        return *again ? status : woken;
    }
    if (status == SANDLOT_OK && !reader->finished)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "Daytona's answer with files was cut; try again");
    return status;
}

/* The toolbox knows names in UTF-8 alone, a shell any. */
static bool has_other_names(const struct sandlot_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!text_is_utf8(files[i].path))
            return true;
    return false;
}

static enum sandlot_status download_some_files(struct sandlot_call *call, void *provider, void *sandbox,
                                               const struct sandlot_file *files, size_t count,
                                               const struct sandlot_transfer *transfer)
{
    const struct printed_download_vendor printing = {
        .scripts = {.provider = provider, .sandbox = sandbox, .execute = command_execute}};

    if (count == 0)
        return SANDLOT_OK;
    if (has_other_names(files, count))
        return printed_download(call, &printing, files, count, transfer);
    if (count == 1)
        return download_one(call, sandbox, files, transfer);
    AUTO_FREE struct download *download = calloc(1, sizeof(*download));
    AUTO_FREE struct multipart *reader = calloc(1, sizeof(*reader));

    if (!download || !reader)
        return http_no_memory(call);
    download->call = call;
    download->files = files;
    download->count = count;
    download->transfer = transfer;
    bool again;
    struct attempt attempt; /* its failure need not be that of the download */

    attempt_begin(&attempt, call, 0);
    enum sandlot_status status = download_some(&attempt.call, sandbox, download, reader, &again);

    if (again)
        return download_some(call, sandbox, download, reader, &again);
    return status == SANDLOT_OK ? status : attempt_fail(&attempt, status);
}

enum sandlot_status download_files(struct sandlot_call *call, void *provider, void *sandbox,
                                   const struct sandlot_file *files, size_t count,
                                   const struct sandlot_transfer *transfer)
{
    const struct batch_vendor vendor = {.provider = provider,
                                        .sandbox = sandbox,
                                        .execute = command_execute,
                                        .move = download_some_files,
                                        .least = BATCH_MOVED + 1};

    return batch_download(call, &vendor, files, count, transfer);
}

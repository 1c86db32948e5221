#include "download.h"

#include "command.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/printed_download.h>
#include <string.h>

enum {
    WORDS_SIZE = 480,
    PRINTED = 512 * 1024 /* bytes of files in one answer: their text has fewer lines than an answer holds */
};

/* The service says of whatever goes wrong with a file that the request is bad. NULL: its words are none that we know.
 */
static const char *file_error(const struct http_response *response)
{
    static const struct {
        const char *words;
        const char *error;
    } errors[] = {{"not a directory", "invalid_path"},
                  {"name too long", "invalid_path"},
                  {"too many levels", "invalid_path"},
                  {"does not exist", "file_not_found"},
                  {"no such file", "file_not_found"},
                  {"is a directory", "is_directory"},
                  {"permission denied", "permission_denied"},
                  {"os error 13", "permission_denied"},
                  {"os error 2)", "file_not_found"},
                  {"os error 21)", "is_directory"},
                  {"os error 20)", "invalid_path"}};

    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
        if (http_mentions(response, errors[i].words))
            return errors[i].error;
    return NULL;
}

static enum sandlot_status after_refusal(struct sandlot_call *call, struct sandbox *sandbox, size_t index,
                                         const struct http_response *response, const struct sandlot_transfer *transfer)
{
    char said[WORDS_SIZE - 64];
    char words[WORDS_SIZE];
    const char *error = file_error(response);
    bool running = true;
    enum sandlot_status status = error ? SANDLOT_OK : sandbox_wake(call, sandbox, &running);

    if (status != SANDLOT_OK)
        return status;
    if (!running)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "Runloop's devbox %.100s was not running; try again",
                            sandbox->id);
    http_error_text(response->body, response->length, said, sizeof(said));
    snprintf(words, sizeof(words), "Runloop could not read it (%s)", *said ? said : "it does not say why");
    transfer->done(transfer, index, error ? error : words, 0);
    return SANDLOT_OK;
}

static enum sandlot_status download_one(struct sandlot_call *call, void *handle, const struct sandlot_file *file,
                                        size_t index, const struct sandlot_transfer *transfer)
{
    static const char *const headers[] = {"Accept: application/octet-stream", NULL};
    struct sandbox *sandbox = handle;
    struct json_builder builder = {0};

    json_set_string(&builder, "path", file->path);
    AUTO_FREE char *body = json_finish(&builder, NULL);
    AUTO_FREE char *target = http_target("/v1/devboxes/{}/download_file", sandbox->id);
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *nothing = NULL;
    const struct http_request request = {.method = "POST",
                                         .target = target,
                                         .headers = headers,
                                         .body = {.bytes = body, .length = body ? strlen(body) : 0},
                                         .repeatable = true,
                                         .sink = file->sink};

    if (!body)
        return http_no_memory(call);
    enum sandlot_status status = api_send(call, sandbox->runloop, &request, NULL, &response, &nothing);

    if (status == SANDLOT_OK && response.status < 300)
        status = http_want_file(call, &response, "Runloop");
    if (status == SANDLOT_OK)
        transfer->done(transfer, index, NULL, response.bytes);
    return sandbox_is_refusal(response.status) ? after_refusal(call, sandbox, index, &response, transfer) : status;
}

PRINTED_DOWNLOAD(download_files, command_execute, .one = download_one, .printed = PRINTED, .least = 16, .utf8 = true)

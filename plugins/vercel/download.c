/*
 * POST .../fs/read answers with a file's bytes. What it says when there are none differs, and a missing file looks like
 * a missing session; so the sandbox itself is asked what is the matter with the file.
 */
#include "download.h"

#include "command.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/printed_download.h>
#include <string.h>

/* Has Vercel said itself that there is no such file? */
static bool is_missing(const struct http_response *response, const char *code)
{
    return response->status == 404 && (strcmp(code, "path_not_found") == 0 || strcmp(code, "file_not_found") == 0);
}

/* Could the file be what Vercel's refusal is about? */
static bool may_be_the_file(int status)
{
    return status == 400 || status == 403 || status == 404 || status == 409 || status == 413 || status == 415 ||
           status == 422 || status == 500;
}

/* ---- one file ---------------------------------------------------------------------------------------------------- */

static enum sandlot_status fetch(struct sandlot_call *call, struct sandbox *sandbox, const struct sandlot_file *file,
                                 struct http_response *response, char **session)
{
    struct json_builder body = {0};
    size_t length = 0;

    json_set_string(&body, "path", file->path);
    AUTO_FREE char *text = json_finish(&body, &length);
    AUTO_FREE char *target = sandbox_target(call, sandbox, "/fs/read", session);
    const struct http_request request = {.method = "POST",
                                         .target = target,
                                         .body = {.bytes = text, .length = length},
                                         .repeatable = true,
                                         .sink = file->sink};

    if (!text || !target)
        return http_no_memory(call);
    enum sandlot_status status = http_send(call, sandbox->vercel->client, &request, response);

    /* It has no length, and an empty file no bytes: the type alone tells a file from all else. */
    return status == SANDLOT_OK ? http_want_file(call, response, "Vercel") : status;
}

/* Looks for the reason of a refusal in the sandbox. *EXPLAINED: it is the file's, and was told. */
static enum sandlot_status explain(struct sandlot_call *call, struct sandbox *sandbox, const struct sandlot_file *file,
                                   bool missing, size_t index, const struct sandlot_transfer *transfer, bool *explained)
{
    const struct script_place place = {.sandbox = sandbox, .execute = command_execute};
    char word[PRINTED_DOWNLOAD_WORD] = "file_not_found";
    enum sandlot_status status = missing ? SANDLOT_OK : printed_download_why(call, &place, file->path, word);

    *explained = status == SANDLOT_OK && *word;
    if (*explained)
        transfer->done(transfer, index, word, 0);
    return status;
}

static enum sandlot_status download_one(struct sandlot_call *call, void *sandbox, const struct sandlot_file *file,
                                        size_t index, const struct sandlot_transfer *transfer)
{
    for (int attempt = 1;; attempt++) {
        AUTO_RESPONSE struct http_response response = {0};
        AUTO_FREE char *session = NULL;
        bool explained = false;
        enum sandlot_status status = fetch(call, sandbox, file, &response, &session);
        enum sandlot_status after = SANDLOT_OK;
        char code[64];

        if (status == SANDLOT_OK) {
            transfer->done(transfer, index, NULL, response.bytes);
            return SANDLOT_OK;
        }
        api_error_code(response.body, response.length, code);
        if (sandbox_is_refusal(response.status, code))
            after = sandbox_wake(call, sandbox, session);
        else if (may_be_the_file(response.status))
            after = explain(call, sandbox, file, is_missing(&response, code), index, transfer, &explained);
        else
            return status;
        if (explained || after != SANDLOT_OK)
            return after;
        if (attempt > 1)
            return status;
    }
}

PRINTED_DOWNLOAD(download_files, command_execute, .one = download_one, .least = 16, .utf8 = true)

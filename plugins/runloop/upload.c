#include "upload.h"

#include "command.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/staged_upload.h>
#include <string.h>

/* The service refuses a file: because it cannot store it, or because the devbox does not run. */
static enum sandlot_status after_refusal(struct sandlot_call *call, struct sandbox *sandbox,
                                         const struct http_response *response)
{
    char said[400];
    bool running;
    enum sandlot_status status = sandbox_wake(call, sandbox, &running);

    http_error_text(response->body, response->length, said, sizeof(said));
    if (status == SANDLOT_OK)
        status =
            sandlot_fail(call, running ? SANDLOT_INTERNAL : SANDLOT_UNAVAILABLE,
                         "Runloop could not store the file in devbox %.100s (%s); %s", sandbox->id,
                         *said ? said : "it does not say why", running ? "look whether its disk is full" : "try again");
    return status;
}

static enum sandlot_status store(struct sandlot_call *call, void *handle, struct staged_files *staged)
{
    static const int refusals[] = {SANDBOX_REFUSALS, 0};
    struct sandbox *sandbox = handle;
    const struct sandlot_file *file = staged->files;
    char id[RANDOM_UUID_SIZE];
    char id_header[16 + RANDOM_UUID_SIZE];
    const char *const headers[] = {id_header, NULL};
    const struct http_part parts[] = {
        {.name = "path", .body = {.bytes = file->path, .length = strlen(file->path)}},
        {.name = "file",
         .file_name = "file",
         .type = "application/octet-stream",
         .body = {.source = file->source, .length = file->length}},
    };
    AUTO_FREE char *target = http_target("/v1/devboxes/{}/upload_file", sandbox->id);
    AUTO_RESPONSE struct http_response response = {0};
    const struct http_request request = {
        .method = "POST", .target = target, .headers = headers, .parts = parts, .part_count = 2, .accepted = refusals};
    struct http_client *client;
    enum sandlot_status status = api_client(call, sandbox->runloop, &client);

    random_uuid_by_time(id);
    snprintf(id_header, sizeof(id_header), "x-request-id: %s", id);
    /* Whatever the answer holds: that it is good news is all that counts. */
    if (status == SANDLOT_OK)
        status = http_send(call, client, &request, &response);
    staged->lost = status == SANDLOT_UNAVAILABLE && response.status == 0;
    return status == SANDLOT_OK && sandbox_is_refusal(response.status) ? after_refusal(call, sandbox, &response)
                                                                       : status;
}

STAGED_PUT(upload_new_file, command_execute, store)

STAGED_UPLOAD(upload_files, command_execute, .clean_up = command_clean_up, .store = store, .single = true, .least = 16)

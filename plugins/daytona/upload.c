/*
 * What arrives by bulk-upload may be cut, overwrites what is there as it comes, and cannot carry a mode. So files are
 * staged, all in one request.
 */
#include "upload.h"

#include "command.h"

#include <sandlot/sdk/batch.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/kept_source.h>
#include <sandlot/sdk/staged_upload.h>

#include <string.h>

enum { NAME_SIZE = 48, WORDS_SIZE = 400, KEPT_SIZE = 1 << 20 };

/* ---- the form ------------------------------------------------------------------------------------------------- */

/* The names of the two parts of one file. */
struct names {
    char path[NAME_SIZE];
    char file[NAME_SIZE];
};

/* The path must come before its file. */
static void fill_parts(struct http_part parts[2], struct names *names, size_t index, const char *path,
                       const struct http_body *body)
{
    snprintf(names->path, NAME_SIZE, "files[%zu].path", index);
    snprintf(names->file, NAME_SIZE, "files[%zu].file", index);
    parts[0] = (struct http_part){.name = names->path, .body = {.bytes = path, .length = strlen(path)}};
    parts[1] =
        (struct http_part){.name = names->file, .file_name = "file", .type = "application/octet-stream", .body = *body};
}

static uint64_t body_length(uint64_t length)
{
    return length == UINT64_MAX ? HTTP_LENGTH_UNKNOWN : length;
}

/* *TROUBLE: the sandbox has been brought to run again since, and would take the same now. */
static enum sandlot_status send_form(struct sandlot_call *call, struct sandbox *sandbox, const struct http_part *parts,
                                     size_t part_count, struct http_response *response, bool *trouble)
{
    static const int refusals[] = {400, 401, 404, 502, 0};
    AUTO_FREE char *target = http_target("/{}/files/bulk-upload", sandbox->id);
    const struct http_request request = {
        .method = "POST", .target = target, .parts = parts, .part_count = part_count, .accepted = refusals};
    enum sandlot_status status = http_send(call, sandbox->toolbox, &request, response);

    *trouble = false;
    if (status != SANDLOT_OK || response->status < 300)
        return status;
    if (response->status == 400 && !sandbox_trouble(response))
        return SANDLOT_OK; /* some of the files were refused, and it says which */
    if (!sandbox_trouble(response))
        return http_response_fail(call, sandbox->toolbox, &request, response);
    status = sandbox_wake(call, sandbox);
    *trouble = status == SANDLOT_OK;
    return status;
}

/* FINAL: nobody can read again what was to be sent. */
static enum sandlot_status not_taken(struct sandlot_call *call, const struct sandbox *sandbox,
                                     const struct http_response *response, bool final)
{
    if (final && response->status == 401)
        return http_response_fail(call, sandbox->toolbox, NULL, response);
    return sandlot_fail(call, SANDLOT_UNAVAILABLE,
                        "the toolbox of Daytona's sandbox %s did not take the files (status %d); try again",
                        sandbox->id, response->status);
}

/* ---- several files -------------------------------------------------------------------------------------------- */

/* Passes on what a 400 says: each of its texts begins with the path that it is about. False: it says nothing. */
static bool tell_refused(const struct staged_files *staged, const struct http_response *response)
{
    struct json_error error;
    AUTO_DOCUMENT struct json_object *document = json_read_document(response->body, response->length, &error);
    struct json_object *errors = NULL;

    if (!document || !json_read_array(document, "errors", &errors, &error))
        return false;
    for (size_t e = 0; e < json_object_array_length(errors); e++) {
        const char *text = json_object_get_string(json_object_array_get_idx(errors, e));

        for (size_t i = 0; text && i < staged->count; i++) {
            size_t length = strlen(staged->files[i].path);
            char words[WORDS_SIZE];

            if (strncmp(text, staged->files[i].path, length) != 0 || text[length] != ':')
                continue;
            snprintf(words, sizeof(words), "Daytona could not store it (%s)", text + length + 1);
            staged->refused->done(staged->refused, i, words, 0);
        }
    }
    return true;
}

static enum sandlot_status store(struct sandlot_call *call, void *context, struct staged_files *staged)
{
    struct sandbox *sandbox = context;
    AUTO_FREE struct names *names = calloc(staged->count, sizeof(*names));
    AUTO_FREE struct http_part *parts = calloc(staged->count, 2 * sizeof(*parts));
    AUTO_RESPONSE struct http_response response = {0};
    bool trouble;

    if (!names || !parts)
        return http_no_memory(call);
    for (size_t i = 0; i < staged->count; i++) {
        const struct sandlot_file *file = &staged->files[i];
        const struct http_body body = {.source = file->source, .length = body_length(file->length)};

        fill_parts(&parts[2 * i], &names[i], i, file->path, &body);
    }
    enum sandlot_status status = send_form(call, sandbox, parts, 2 * staged->count, &response, &trouble);

    staged->lost = status == SANDLOT_UNAVAILABLE && response.status == 0;
    if (trouble) /* the host begins again with those that it can read again, which no pipe is */
        return not_taken(call, sandbox, &response, staged->count == 1 && staged->files->length == UINT64_MAX);
    if (status == SANDLOT_OK && response.status == 400 && !tell_refused(staged, &response))
        return sandlot_fail(call, SANDLOT_INTERNAL,
                            "Daytona did not take the files and does not say why (status 400); try again");
    return status;
}

/* ---- one new file --------------------------------------------------------------------------------------------- */

/* SOURCE is read on from where it is. */
static enum sandlot_status send_new_file(struct sandlot_call *call, struct sandbox *sandbox, const char *path,
                                         const struct http_body *body, bool *trouble, struct http_response *response)
{
    struct http_part parts[2];
    struct names names;

    fill_parts(parts, &names, 0, path, body);
    return send_form(call, sandbox, parts, 2, response, trouble);
}

enum sandlot_status upload_new_file(struct sandlot_call *call, void *sandbox, const char *path,
                                    const struct sandlot_source *source, uint64_t length)
{
    AUTO_RESPONSE struct http_response response = {0};
    struct kept_source kept;
    bool trouble;

    kept_source_open(&kept, source, KEPT_SIZE);
    const struct http_body body = {
        .source = &kept.source, .length = body_length(length), .rewind = kept_source_rewind, .rewind_context = &kept};
    enum sandlot_status status = send_new_file(call, sandbox, path, &body, &trouble, &response);

    if (trouble && kept_source_rewind(&kept) == SANDLOT_OK) {
        http_response_clear(&response);
        status = send_new_file(call, sandbox, path, &body, &trouble, &response);
    }
    kept_source_close(&kept);
    if (trouble)
        return not_taken(call, sandbox, &response, true);
    if (status == SANDLOT_OK && response.status == 400)
        return sandlot_fail(call, SANDLOT_INTERNAL,
                            "Daytona could not store %.100s in the sandbox; look whether its disk is full", path);
    return status;
}

STAGED_UPLOAD(upload_files, command_execute, .clean_up = command_clean_up, .store = store, .carries = true,
              .least = BATCH_MOVED + 1)

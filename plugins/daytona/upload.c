/*
 * What arrives by bulk-upload may be cut, overwrites what is there as it comes, and cannot carry a mode. So files go to
 * a folder of their own first, and one command puts those that have come whole into their places.
 */
#include "upload.h"

#include "command.h"
#include "placing.h"

#include <sandlot/sdk/cleanup.h>

#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

enum { NAME_SIZE = 48, WORDS_SIZE = 400 };

/* One file on its way. */
struct staged {
    const struct sandlot_file *file;
    char path_field[NAME_SIZE]; /* the names of its two parts of the form */
    char file_field[NAME_SIZE];
    char *path; /* where it goes first */
    struct sandlot_source source;
    uint64_t bytes; /* that were read of it */
    char *content;  /* of a short one */
    bool told;      /* its fate is known */
};

struct upload {
    struct sandlot_call *call;
    struct sandbox *sandbox;
    const struct sandlot_transfer *transfer;
    char folder[NAME_SIZE];
    struct staged *staged;
    struct http_part *parts;
    size_t count;
    bool form_sent; /* the files are in the folder, as far as they came */
};

/* ---- the form ------------------------------------------------------------------------------------------------- */

static enum sandlot_status read_counted(const struct sandlot_source *source, void *buffer, size_t capacity,
                                        size_t *length)
{
    struct staged *staged = source->context;
    const struct sandlot_source *own = staged->file->source;
    enum sandlot_status status = own->read(own, buffer, capacity, length);

    if (status == SANDLOT_OK)
        staged->bytes += *length;
    return status;
}

/* The path must come before its file. */
static void fill_parts(struct http_part parts[2], const struct staged *staged, uint64_t length)
{
    parts[0] =
        (struct http_part){.name = staged->path_field, .body = {.bytes = staged->path, .length = strlen(staged->path)}};
    parts[1] = (struct http_part){.name = staged->file_field,
                                  .file_name = "file",
                                  .type = "application/octet-stream",
                                  .body = {.source = &staged->source, .length = length}};
}

static bool stage(struct upload *upload, size_t index, const struct sandlot_file *file)
{
    struct staged *staged = &upload->staged[index];

    staged->file = file;
    staged->source = (struct sandlot_source){sizeof(staged->source), staged, read_counted, file->source->poll_fd};
    snprintf(staged->path_field, NAME_SIZE, "files[%zu].path", index);
    snprintf(staged->file_field, NAME_SIZE, "files[%zu].file", index);
    if (asprintf(&staged->path, "%s/%zu", upload->folder, index) < 0) {
        staged->path = NULL;
        return false;
    }
    fill_parts(&upload->parts[2 * index], staged, file->length == UINT64_MAX ? HTTP_LENGTH_UNKNOWN : file->length);
    return true;
}

static enum sandlot_status send_form(struct sandlot_call *call, struct sandbox *sandbox, const struct http_part *parts,
                                     size_t part_count, struct http_response *response)
{
    static const int refusals[] = {400, 401, 404, 502, 0};
    AUTO_FREE char *target = http_target("/{}/files/bulk-upload", sandbox->id);
    const struct http_request request = {
        .method = "POST", .target = target, .parts = parts, .part_count = part_count, .accepted = refusals};
    enum sandlot_status status = http_send(call, sandbox->toolbox, &request, response);

    if (status != SANDLOT_OK || response->status < 300)
        return status;
    if (response->status == 400 && !sandbox_trouble(response))
        return SANDLOT_OK; /* some of the files were refused, and it says which */
    if (!sandbox_trouble(response))
        return http_response_fail(call, sandbox->toolbox, &request, response);
    status = sandbox_wake(call, sandbox);
    return status == SANDLOT_OK
               ? sandlot_fail(call, SANDLOT_UNAVAILABLE,
                              "the toolbox of Daytona's sandbox %s did not take the files (status %d); try again",
                              sandbox->id, response->status)
               : status;
}

/* ---- fates ---------------------------------------------------------------------------------------------------- */

static void tell(struct upload *upload, size_t index, const char *error)
{
    struct staged *staged = &upload->staged[index];

    if (!staged->told)
        upload->transfer->done(upload->transfer, index, error, error ? 0 : staged->bytes);
    staged->told = true;
}

/* Passes on what a 400 says: each of its texts begins with the path that it is about. False: it says nothing. */
static bool tell_refused(struct upload *upload, const struct http_response *response)
{
    struct json_error error;
    AUTO_DOCUMENT struct json_object *document = json_read_document(response->body, response->length, &error);
    struct json_object *errors = NULL;

    if (!document || !json_read_array(document, "errors", &errors, &error))
        return false;
    for (size_t e = 0; e < json_object_array_length(errors); e++) {
        const char *text = json_object_get_string(json_object_array_get_idx(errors, e));

        for (size_t i = 0; text && i < upload->count; i++) {
            size_t length = strlen(upload->staged[i].path);
            char words[WORDS_SIZE];

            if (strncmp(text, upload->staged[i].path, length) != 0 || text[length] != ':')
                continue;
            snprintf(words, sizeof(words), "Daytona could not store it (%s)", text + length + 1);
            tell(upload, i, words);
        }
    }
    return true;
}

/* ---- placing -------------------------------------------------------------------------------------------------- */

static void tell_any(void *context, size_t index, const char *error)
{
    tell(context, index, error);
}

static enum sandlot_status place(struct upload *upload, bool *lacking)
{
    AUTO_FREE struct placing *files = calloc(upload->count, sizeof(*files));

    if (!files)
        return api_no_memory(upload->call);
    for (size_t i = 0; i < upload->count; i++) {
        const struct staged *staged = &upload->staged[i];

        files[i] = (struct placing){.target = staged->file->path,
                                    .bytes = staged->bytes,
                                    .mode = staged->file->mode,
                                    .content = upload->form_sent ? NULL : staged->content,
                                    .left_out = staged->told};
    }
    return placing_run(upload->call, upload->sandbox, upload->folder, files, upload->count, tell_any, upload, lacking);
}

/* What was stored of files that come to nothing. */
static void clean_up(const struct upload *upload)
{
    char script[NAME_SIZE + 16];

    snprintf(script, sizeof(script), "rm -rf %s\n", upload->folder);
    command_clean_up(upload->call, upload->sandbox, script);
}

/* ---- upload --------------------------------------------------------------------------------------------------- */

static bool prepare(struct upload *upload, const struct sandlot_file *files)
{
    uint64_t random[2];

    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return false;
    snprintf(upload->folder, NAME_SIZE, "/tmp/.sandlot-%08" PRIx64 "%08" PRIx64, random[0] & UINT32_MAX,
             random[1] & UINT32_MAX);
    upload->staged = calloc(upload->count, sizeof(*upload->staged));
    upload->parts = calloc(upload->count, 2 * sizeof(*upload->parts));
    bool prepared = upload->staged && upload->parts;

    for (size_t i = 0; i < upload->count && prepared; i++)
        prepared = stage(upload, i, &files[i]);
    return prepared;
}

static enum sandlot_status send_and_place(struct upload *upload)
{
    AUTO_RESPONSE struct http_response response = {0};
    bool lacking = false;

    upload->form_sent = true;
    enum sandlot_status sent = send_form(upload->call, upload->sandbox, upload->parts, 2 * upload->count, &response);

    if (sent == SANDLOT_OK && response.status == 400 && !tell_refused(upload, &response))
        sent = sandlot_fail(upload->call, SANDLOT_INTERNAL,
                            "Daytona did not take the files and does not say why (status 400); try again");
    /* A lost answer says nothing of the files: which of them have come whole shows when they are placed. */
    if (sent != SANDLOT_OK && (sent != SANDLOT_UNAVAILABLE || response.status != 0)) {
        clean_up(upload);
        return sent;
    }
    enum sandlot_status placed = place(upload, &lacking);

    if (placed != SANDLOT_OK)
        clean_up(upload);
    return sent != SANDLOT_OK ? sent : placed;
}

/* ---- short files ---------------------------------------------------------------------------------------------- */

static bool is_short(const struct upload *upload)
{
    uint64_t together = 0;

    for (size_t i = 0; i < upload->count; i++) {
        uint64_t length = upload->staged[i].file->length;

        if (length > PLACING_CARRIED || together > PLACING_CARRIED - length)
            return false;
        together += length;
    }
    return true;
}

static enum sandlot_status keep_content(struct upload *upload, struct staged *staged)
{
    size_t wanted = (size_t)staged->file->length;
    size_t got = 1;
    enum sandlot_status status = SANDLOT_OK;

    staged->content = malloc(wanted + 1);
    if (!staged->content)
        return api_no_memory(upload->call);
    while (status == SANDLOT_OK && staged->bytes < wanted && got > 0)
        status = read_counted(&staged->source, staged->content + staged->bytes, wanted - (size_t)staged->bytes, &got);
    if (status == SANDLOT_OK && staged->bytes < wanted)
        return sandlot_fail(upload->call, SANDLOT_INVALID_ARGUMENT,
                            "the content of %.200s ended before its announced length; upload it again",
                            staged->file->path);
    return status;
}

/* In the command itself, which saves a request. *LACKING: the sandbox lacks what this needs. */
static enum sandlot_status carry(struct upload *upload, bool *lacking)
{
    enum sandlot_status status = SANDLOT_OK;

    for (size_t i = 0; i < upload->count && status == SANDLOT_OK; i++) {
        struct staged *staged = &upload->staged[i];

        status = keep_content(upload, staged);
        upload->parts[2 * i + 1].body = (struct http_body){.bytes = staged->content, .length = staged->bytes};
    }
    return status == SANDLOT_OK ? place(upload, lacking) : status;
}

static enum sandlot_status upload_all(struct upload *upload)
{
    bool lacking = false;
    enum sandlot_status status = SANDLOT_OK;

    if (!is_short(upload))
        return send_and_place(upload);
    status = carry(upload, &lacking);
    return status == SANDLOT_OK && lacking ? send_and_place(upload) : status;
}

enum sandlot_status upload_files(struct sandlot_call *call, void *provider, void *sandbox,
                                 const struct sandlot_file *files, size_t count,
                                 const struct sandlot_transfer *transfer)
{
    struct upload upload = {.call = call, .sandbox = sandbox, .transfer = transfer, .count = count};
    enum sandlot_status status = SANDLOT_OK;

    (void)provider;
    if (count > 0)
        status = prepare(&upload, files) ? upload_all(&upload) : api_no_memory(call);
    for (size_t i = 0; i < count && upload.staged; i++) {
        free(upload.staged[i].path);
        free(upload.staged[i].content);
    }
    free(upload.staged);
    free(upload.parts);
    return status;
}

enum sandlot_status upload_new_file(struct sandlot_call *call, struct sandbox *sandbox, const char *path,
                                    const struct sandlot_source *source, uint64_t length)
{
    const struct http_part parts[] = {
        {.name = "files[0].path", .body = {.bytes = path, .length = strlen(path)}},
        {.name = "files[0].file",
         .file_name = "file",
         .type = "application/octet-stream",
         .body = {.source = source, .length = length == UINT64_MAX ? HTTP_LENGTH_UNKNOWN : length}},
    };
    AUTO_RESPONSE struct http_response response = {0};
    enum sandlot_status status = send_form(call, sandbox, parts, 2, &response);

    if (status == SANDLOT_OK && response.status == 400)
        return sandlot_fail(call, SANDLOT_INTERNAL,
                            "Daytona could not store %.100s in the sandbox; look whether its disk is full", path);
    return status;
}

/*
 * What is uploaded may be cut, overwrites what is there as it comes, makes no folders and has no mode. So it goes to
 * /tmp first, and one command puts it into its place. Small files travel together, as one that is cut up there.
 */
#include "upload.h"

#include "command.h"

#include <inttypes.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/placing.h>
#include <sandlot/sdk/text_sink.h>
#include <string.h>
#include <sys/random.h>

enum { PREFIX_SIZE = 40, NAME_SIZE = 64, FATES_SIZE = 16384, SMALL = 4 << 20 };

/* What is sent in one request: files FIRST to END - 1, one behind the other. */
struct bundle {
    struct upload *upload;
    struct sandlot_source source;
    size_t first;
    size_t end;
    size_t at;      /* the file that is being read */
    uint64_t bytes; /* of the whole, so far */
};

struct upload {
    struct sandlot_call *call;
    struct sandbox *sandbox;
    const struct sandlot_file *files;
    size_t count;
    const struct sandlot_transfer *transfer;
    char prefix[PREFIX_SIZE];
    char (*names)[NAME_SIZE]; /* of the bundles, each by its first file */
    struct placing_file *placing;
    bool *told;
};

/* ---- sending ----------------------------------------------------------------------------------------------------- */

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

/* *LOST: no answer came, so that it may be there. */
static enum sandlot_status send_file(struct sandlot_call *call, struct sandbox *sandbox, const char *path,
                                     const struct sandlot_source *source, uint64_t length, bool *lost)
{
    static const int refusals[] = {400, 0};
    const struct http_part parts[] = {
        {.name = "path", .body = {.bytes = path, .length = strlen(path)}},
        {.name = "file",
         .file_name = "file",
         .type = "application/octet-stream",
         .body = {.source = source, .length = length == UINT64_MAX ? HTTP_LENGTH_UNKNOWN : length}},
    };
    AUTO_FREE char *target = http_target("/v1/devboxes/{}/upload_file", sandbox->id);
    AUTO_RESPONSE struct http_response response = {0};
    const struct http_request request = {
        .method = "POST", .target = target, .parts = parts, .part_count = 2, .accepted = refusals};
    struct http_client *client;
    enum sandlot_status status = api_client(call, sandbox->runloop, &client);

    /* Whatever the answer holds: that it is good news is all that counts. */
    if (status == SANDLOT_OK)
        status = http_send(call, client, &request, &response);
    if (lost)
        *lost = status == SANDLOT_UNAVAILABLE && response.status == 0;
    return status == SANDLOT_OK && response.status == 400 ? after_refusal(call, sandbox, &response) : status;
}

enum sandlot_status upload_new_file(struct sandlot_call *call, struct sandbox *sandbox, const char *path,
                                    const struct sandlot_source *source, uint64_t length)
{
    return send_file(call, sandbox, path, source, length, NULL);
}

/* ---- bundles ----------------------------------------------------------------------------------------------------- */

static enum sandlot_status read_bundle(const struct sandlot_source *source, void *buffer, size_t capacity,
                                       size_t *length)
{
    struct bundle *bundle = source->context;

    *length = 0;
    for (; bundle->at < bundle->end; bundle->at++) {
        const struct sandlot_file *file = &bundle->upload->files[bundle->at];
        struct placing_file *placing = &bundle->upload->placing[bundle->at];
        uint64_t left = file->length == UINT64_MAX ? UINT64_MAX : file->length - placing->bytes;

        if (placing->bytes == 0)
            placing->offset = bundle->bytes;
        if (left == 0)
            continue;
        enum sandlot_status status =
            file->source->read(file->source, buffer, left < capacity ? (size_t)left : capacity, length);

        if (status != SANDLOT_OK)
            return status;
        placing->bytes += *length;
        bundle->bytes += *length;
        if (*length > 0)
            return SANDLOT_OK;
    }
    return SANDLOT_OK;
}

static bool is_small(const struct sandlot_file *file)
{
    return file->length <= SMALL;
}

/* The files from FIRST on that travel together; alone one keeps its own way to say when it can be read. */
static uint64_t fill_bundle(struct bundle *bundle, struct upload *upload, size_t first)
{
    uint64_t length = upload->files[first].length;
    size_t end = first + 1;

    if (is_small(&upload->files[first]))
        for (; end < upload->count && is_small(&upload->files[end]); end++)
            length += upload->files[end].length;
    *bundle = (struct bundle){.upload = upload, .first = first, .end = end, .at = first};
    bundle->source = (struct sandlot_source){.size = sizeof(bundle->source),
                                             .context = bundle,
                                             .read = read_bundle,
                                             .poll_fd = end == first + 1 ? upload->files[first].source->poll_fd : -1};
    snprintf(upload->names[first], NAME_SIZE, "%s.%zu", upload->prefix, first);
    return length;
}

static void note_bundle(const struct bundle *bundle)
{
    struct upload *upload = bundle->upload;

    for (size_t i = bundle->first; i < bundle->end; i++) {
        struct placing_file *placing = &upload->placing[i];

        placing->staged = upload->names[bundle->first];
        placing->staged_bytes = bundle->bytes;
        placing->part = bundle->end > bundle->first + 1;
        placing->mode = upload->files[i].mode;
        placing->target = upload->files[i].path;
    }
}

/* *LOST: the answer to one was lost, which says nothing of the files: which have come whole shows later. */
static enum sandlot_status send_all(struct upload *upload, bool *lost)
{
    *lost = false;
    for (size_t first = 0; first < upload->count;) {
        struct bundle bundle;
        bool unanswered = false;
        uint64_t length = fill_bundle(&bundle, upload, first);
        enum sandlot_status status =
            send_file(upload->call, upload->sandbox, upload->names[first], &bundle.source, length, &unanswered);

        if (status != SANDLOT_OK && !unanswered)
            return status;
        *lost = *lost || unanswered;
        note_bundle(&bundle);
        first = bundle.end;
    }
    return SANDLOT_OK;
}

/* ---- placing ----------------------------------------------------------------------------------------------------- */

static void tell(void *context, size_t index, const char *error)
{
    struct upload *upload = context;

    if (!upload->told[index])
        upload->transfer->done(upload->transfer, index, error, error ? 0 : upload->placing[index].bytes);
    upload->told[index] = true;
}

static enum sandlot_status place(struct upload *upload)
{
    AUTO_FREE char *script = placing_script(upload->prefix, upload->placing, upload->count);
    AUTO_FREE char *fates = malloc(FATES_SIZE);
    struct text_sink sink;

    if (!script || !fates)
        return api_no_memory(upload->call);
    text_sink_init(&sink, fates, FATES_SIZE);
    enum sandlot_status status = command_run(upload->call, upload->sandbox, script, &sink.sink);

    if (status == SANDLOT_OK)
        placing_read(fates, upload->count, tell, upload);
    return status;
}

/* What was stored of files that come to nothing. */
static void clean_up(const struct upload *upload)
{
    char script[PREFIX_SIZE + 16];

    snprintf(script, sizeof(script), "rm -rf %s*\n", upload->prefix);
    command_clean_up(upload->call, upload->sandbox, script);
}

/* ---- upload ------------------------------------------------------------------------------------------------------ */

static bool prepare(struct upload *upload)
{
    uint64_t random;

    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return false;
    snprintf(upload->prefix, PREFIX_SIZE, "/tmp/.sandlot-%016" PRIx64, random);
    upload->names = calloc(upload->count, sizeof(*upload->names));
    upload->placing = calloc(upload->count, sizeof(*upload->placing));
    upload->told = calloc(upload->count, sizeof(*upload->told));
    return upload->names && upload->placing && upload->told;
}

static enum sandlot_status send_and_place(struct upload *upload)
{
    bool lost;
    enum sandlot_status status = send_all(upload, &lost);

    if (status == SANDLOT_OK)
        status = place(upload);
    if (status != SANDLOT_OK)
        clean_up(upload);
    return status == SANDLOT_OK && lost ? SANDLOT_UNAVAILABLE : status;
}

enum sandlot_status upload_files(struct sandlot_call *call, void *provider, void *sandbox,
                                 const struct sandlot_file *files, size_t count,
                                 const struct sandlot_transfer *transfer)
{
    struct upload upload = {.call = call, .sandbox = sandbox, .files = files, .count = count, .transfer = transfer};
    enum sandlot_status status = SANDLOT_OK;

    (void)provider;
    if (count > 0)
        status = prepare(&upload) ? send_and_place(&upload) : api_no_memory(call);
    free(upload.names);
    free(upload.placing);
    free(upload.told);
    return status;
}

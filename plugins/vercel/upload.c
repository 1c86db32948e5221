/*
 * POST .../fs/write unpacks one tar. It says nothing of single files, gives those that exist the modes of the archive,
 * and leaves what it has when it breaks. So files go to a folder of their own first, and a script puts those that have
 * come whole into their places. Small ones travel with that script, as words of its command line; then this is all
 * one request.
 */
#include "upload.h"

#include "archive_stream.h"
#include "command.h"

#include <sandlot/sdk/base64.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/placing.h>
#include <string.h>
#include <sys/random.h>

enum {
    NAME_SIZE = 64,
    FATES_SIZE = 16384,
    NEW_MODE = 0600,
    PLAIN_MODE = 0644,
    WORD_SIZE = 96 * 1024, /* of one argument; the kernel takes 128 KiB */
    WORD_BYTES = WORD_SIZE / 4 * 3,
    MOST_WORDS = 16 /* and 2 MiB of all together */
};

/* One file on its way. */
struct staged {
    const struct sandlot_file *file;
    char path[NAME_SIZE]; /* where it goes first */
    struct sandlot_source source;
    uint64_t bytes; /* that were read of it */
    bool told;      /* its fate is known */
};

struct upload {
    struct sandlot_call *call;
    struct sandbox *sandbox;
    const struct sandlot_transfer *transfer;
    char folder[NAME_SIZE / 2];
    struct staged *staged;
    struct sandlot_file *packed; /* the same as they are put into the archive */
    size_t count;
};

/* ---- the archive ------------------------------------------------------------------------------------------------- */

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

static void stage(struct upload *upload, size_t index, const struct sandlot_file *file)
{
    struct staged *staged = &upload->staged[index];

    staged->file = file;
    staged->source = (struct sandlot_source){
        .size = sizeof(staged->source), .context = staged, .read = read_counted, .poll_fd = file->source->poll_fd};
    snprintf(staged->path, sizeof(staged->path), "%s/%zu", upload->folder, index);
    upload->packed[index] = (struct sandlot_file){.size = sizeof(*file),
                                                  .path = staged->path,
                                                  .source = &staged->source,
                                                  .length = file->length,
                                                  .mode = NEW_MODE};
}

/* Sends the archive that is BODY, to be unpacked at the root. *STATUS: of HTTP. */
static enum sandlot_status send_archive(struct sandlot_call *call, struct sandbox *sandbox,
                                        const struct http_body *body, int *status)
{
    static const int refusals[] = {404, 410, 422, 0};
    static const char *const headers[] = {"x-cwd: /", NULL};
    AUTO_FREE char *session = NULL;
    AUTO_FREE char *target = sandbox_target(call, sandbox, "/fs/write", &session);
    AUTO_RESPONSE struct http_response response = {0};
    const struct http_request request = {.method = "POST",
                                         .target = target,
                                         .headers = headers,
                                         .type = "application/gzip",
                                         .body = *body,
                                         .repeatable = true, /* it writes the same files again */
                                         .accepted = refusals};
    enum sandlot_status sent =
        target ? http_send(call, sandbox->vercel->client, &request, &response) : api_no_memory(call);

    *status = response.status;
    if (sent != SANDLOT_OK || response.status < 300)
        return sent;
    return sandbox_wake(call, sandbox, session);
}

/* What is in memory can be sent to a new session too. */
static enum sandlot_status send_packed(struct sandlot_call *call, struct sandbox *sandbox, const char *bytes,
                                       size_t length)
{
    const struct http_body body = {.bytes = bytes, .length = length};
    int code = 0;
    enum sandlot_status status = send_archive(call, sandbox, &body, &code);

    if (status == SANDLOT_OK && code >= 300)
        status = send_archive(call, sandbox, &body, &code);
    return status == SANDLOT_OK && code >= 300
               ? sandlot_fail(call, SANDLOT_UNAVAILABLE, "Vercel did not take the files (%d); try again", code)
               : status;
}

static enum sandlot_status send_stream(struct sandlot_call *call, struct sandbox *sandbox,
                                       const struct sandlot_file *files, size_t count)
{
    struct archive_stream *stream;
    int code = 0;
    enum sandlot_status status = archive_stream_open(call, files, count, &stream);

    if (status != SANDLOT_OK)
        return status;
    const struct http_body body = {.source = archive_stream_source(stream), .length = HTTP_LENGTH_UNKNOWN};

    status = send_archive(call, sandbox, &body, &code);
    archive_stream_close(stream);
    return status == SANDLOT_OK && code >= 300
               ? sandlot_fail(call, SANDLOT_UNAVAILABLE,
                              "the session of Vercel's sandbox '%.128s' was over when the files came (%d), and another "
                              "one has begun; try again",
                              sandbox->name, code)
               : status;
}

/* ---- placing ----------------------------------------------------------------------------------------------------- */

static void tell(void *context, size_t index, const char *error)
{
    struct upload *upload = context;
    struct staged *staged = &upload->staged[index];

    if (!staged->told)
        upload->transfer->done(upload->transfer, index, error, error ? 0 : staged->bytes);
    staged->told = true;
}

/* The script that puts the files into their places; to be freed. */
static char *make_script(const struct upload *upload)
{
    AUTO_FREE struct placing_file *files = calloc(upload->count, sizeof(*files));

    for (size_t i = 0; files && i < upload->count; i++) {
        const struct staged *staged = &upload->staged[i];

        files[i] = (struct placing_file){.staged = staged->path,
                                         .staged_bytes = staged->bytes,
                                         .mode = staged->file->mode ? staged->file->mode : PLAIN_MODE,
                                         .target = staged->file->path};
    }
    return files ? placing_script(upload->folder, files, upload->count) : NULL;
}

/* Every file has a fate at the end, or the host would ask again for all. */
static enum sandlot_status read_fates(struct upload *upload, char *text)
{
    placing_read(text, upload->count, tell, upload);
    for (size_t i = 0; i < upload->count; i++)
        if (!upload->staged[i].told)
            return sandlot_fail(upload->call, SANDLOT_UNAVAILABLE,
                                "Vercel's sandbox did not say whether all files got to their places; try again");
    return SANDLOT_OK;
}

static enum sandlot_status place(struct upload *upload)
{
    AUTO_FREE char *script = make_script(upload);
    AUTO_FREE char *text = malloc(FATES_SIZE);

    if (!script || !text)
        return api_no_memory(upload->call);
    enum sandlot_status status = command_run(upload->call, upload->sandbox, script, text, FATES_SIZE);

    return status == SANDLOT_OK ? read_fates(upload, text) : status;
}

static void remove_folder(struct upload *upload)
{
    char script[NAME_SIZE];

    snprintf(script, sizeof(script), "rm -rf %s", upload->folder);
    command_clean_up(upload->call, upload->sandbox, script);
}

/* ---- all in one -------------------------------------------------------------------------------------------------- */

/* LENGTH bytes in base64, cut into words; the first and the array are to be freed. NULL when out of memory or too much.
 */
static char **make_words(const char *bytes, size_t length)
{
    size_t needed = (length + 2) / 3 * 4;
    size_t count = (needed + WORD_SIZE - 1) / WORD_SIZE;
    char **words = count <= MOST_WORDS ? calloc(count + 1, sizeof(*words)) : NULL;
    char *text = words ? malloc(needed + count + 1) : NULL;

    if (!text) {
        free(words);
        return NULL;
    }
    *text = '\0';
    words[0] = text;
    for (size_t i = 0, at = 0; at < length; i++, at += WORD_BYTES) {
        words[i] = text;
        text += base64_write(text, bytes + at, length - at < WORD_BYTES ? length - at : WORD_BYTES);
        *text++ = '\0';
    }
    return words;
}

/* Two of it may run at once, when an answer was lost: one waits for the other, and then does the same again. */
static const char unpacking[] =
    "n=0\n"
    "while ! mkdir %s.lock 2>/dev/null && [ $n -lt 100 ]; do sleep 0.1; n=$((n + 1)); done\n"
    "printf %%s \"$@\" | base64 -d | tar xzf - -C / || exit 1\n"
    "set --\n"
    "%s";

/* *DONE: every file has its fate. If not, nothing has happened, and the archive can go the long way. */
static enum sandlot_status carry(struct upload *upload, const char *bytes, size_t length, bool *done)
{
    AUTO_FREE char *placing = make_script(upload);
    AUTO_FREE char *script = NULL;
    AUTO_FREE char *text = malloc(FATES_SIZE);
    AUTO_FREE char **words = make_words(bytes, length);
    AUTO_FREE char *first = words ? words[0] : NULL;

    *done = false;
    if (!first)
        return SANDLOT_OK;
    if (!text || !placing || asprintf(&script, unpacking, upload->folder, placing) < 0)
        return api_no_memory(upload->call);
    enum sandlot_status status =
        command_run_with(upload->call, upload->sandbox, script, (const char *const *)words, text, FATES_SIZE);

    if (status != SANDLOT_OK && status != SANDLOT_UNSUPPORTED && status != SANDLOT_INVALID_ARGUMENT)
        return status;
    placing_read(text, upload->count, tell, upload);
    *done = true;
    for (size_t i = 0; i < upload->count; i++)
        *done = *done && upload->staged[i].told;
    return SANDLOT_OK;
}

static enum sandlot_status upload_small(struct upload *upload)
{
    AUTO_FREE char *bytes = NULL;
    size_t length = 0;
    bool done = false;
    enum sandlot_status status = archive_pack(upload->call, upload->packed, upload->count, &bytes, &length);

    if (status == SANDLOT_OK)
        status = carry(upload, bytes, length, &done);
    if (status != SANDLOT_OK || done)
        return status;
    status = send_packed(upload->call, upload->sandbox, bytes, length);
    return status == SANDLOT_OK ? place(upload) : status;
}

static enum sandlot_status upload_large(struct upload *upload)
{
    enum sandlot_status status = send_stream(upload->call, upload->sandbox, upload->packed, upload->count);

    return status == SANDLOT_OK ? place(upload) : status;
}

enum sandlot_status upload_files(struct sandlot_call *call, void *provider, void *sandbox,
                                 const struct sandlot_file *files, size_t count,
                                 const struct sandlot_transfer *transfer)
{
    AUTO_FREE struct staged *staged = calloc(count, sizeof(*staged));
    AUTO_FREE struct sandlot_file *packed = calloc(count, sizeof(*packed));
    struct upload upload = {
        .call = call, .sandbox = sandbox, .transfer = transfer, .staged = staged, .packed = packed, .count = count};
    uint64_t random;

    (void)provider;
    if (count == 0)
        return SANDLOT_OK;
    if (!staged || !packed)
        return api_no_memory(call);
    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
        random = (uint64_t)sandlot_now_ms();
    snprintf(upload.folder, sizeof(upload.folder), "/tmp/.sandlot-%016llx", (unsigned long long)random);
    for (size_t i = 0; i < count; i++)
        stage(&upload, i, &files[i]);
    enum sandlot_status status = archive_is_small(packed, count) ? upload_small(&upload) : upload_large(&upload);

    if (status != SANDLOT_OK && status != SANDLOT_AUTH && status != SANDLOT_NOT_FOUND)
        remove_folder(&upload);
    return status;
}

enum sandlot_status upload_new_file(struct sandlot_call *call, struct sandbox *sandbox, const char *path,
                                    const struct sandlot_source *source, uint64_t length)
{
    const struct sandlot_file file = {
        .size = sizeof(file), .path = path, .source = source, .length = length, .mode = NEW_MODE};
    AUTO_FREE char *bytes = NULL;
    size_t packed = 0;

    if (!archive_is_small(&file, 1))
        return send_stream(call, sandbox, &file, 1);
    enum sandlot_status status = archive_pack(call, &file, 1, &bytes, &packed);

    return status == SANDLOT_OK ? send_packed(call, sandbox, bytes, packed) : status;
}

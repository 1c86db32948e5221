/*
 * POST .../fs/write unpacks one tar. It says nothing of single files, gives those that exist the modes of the archive,
 * and leaves what it has when it breaks. So files are staged. Small ones travel with the script that places them, as
 * words of its command line; then this is all one request.
 */
#include "upload.h"

#include "archive_stream.h"
#include "command.h"

#include <sandlot/sdk/base64.h>
#include <sandlot/sdk/batch.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/staged_upload.h>
#include <sandlot/sdk/text_format.h>
#include <string.h>

enum {
    FATES_SIZE = 16384,
    NEW_MODE = 0600,
    PLAIN_MODE = 0644,
    WORD_SIZE = 96 * 1024, /* of one argument; the kernel takes 128 KiB */
    WORD_BYTES = WORD_SIZE / 4 * 3,
    MOST_WORDS = 16 /* and 2 MiB of all together */
};

/* ---- the archive ------------------------------------------------------------------------------------------------- */

/* Sends the archive that is BODY, to be unpacked at the root. *STATUS: of HTTP. */
static enum sandlot_status send_archive(struct sandlot_call *call, struct sandbox *sandbox,
                                        const struct http_body *body, int *status)
{
    static const int refusals[] = {404, 410, 422, 0};
    static const char *const headers[] = {"x-cwd: /", NULL};
    AUTO_FREE char *session = NULL;
    AUTO_FREE char *target = sandbox_target(call, sandbox, "/fs/write", &session);
    AUTO_RESPONSE struct http_response response = {0};
    char code[64];
    const struct http_request request = {.method = "POST",
                                         .target = target,
                                         .headers = headers,
                                         .type = "application/gzip",
                                         .body = *body,
                                         .repeatable = true, /* it writes the same files again */
                                         .accepted = refusals};
    enum sandlot_status sent =
        target ? http_send(call, sandbox->vercel->client, &request, &response) : http_no_memory(call);

    *status = response.status;
    if (sent != SANDLOT_OK || response.status < 300)
        return sent;
    api_error_code(response.body, response.length, code);
    return response.status == 404 || sandbox_is_refusal(response.status, code)
               ? sandbox_wake(call, sandbox, session)
               : http_response_fail(call, sandbox->vercel->client, &request, &response);
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
    "while ! mkdir %.*s.lock 2>/dev/null && [ $n -lt 100 ]; do sleep 0.1; n=$((n + 1)); done\n"
    "printf %%s \"$@\" | base64 -d | tar xzf - -C / || exit 1\n"
    "set --\n"
    "%s";

/* *DONE: every file has its fate. If not, nothing has happened, and the archive can go the long way. */
static enum sandlot_status carry(struct sandlot_call *call, struct sandbox *sandbox, struct staged_files *staged,
                                 const char *bytes, size_t length, bool *done)
{
    const char *first_name = staged->files[0].path;
    AUTO_FREE char *placing = staged_upload_script(staged);
    AUTO_FREE char *script = NULL;
    AUTO_FREE char *text = malloc(FATES_SIZE);
    AUTO_FREE char **words = make_words(bytes, length);
    AUTO_FREE char *first = words ? words[0] : NULL;

    *done = false;
    if (!first || (placing && !text_is_utf8(placing))) /* the words of a command are JSON */
        return SANDLOT_OK;
    if (!text || !placing ||
        asprintf(&script, unpacking, (int)(strrchr(first_name, '/') - first_name), first_name, placing) < 0)
        return http_no_memory(call);
    enum sandlot_status status = command_run_with(call, sandbox, script, (const char *const *)words, text, FATES_SIZE);

    if (status != SANDLOT_OK && status != SANDLOT_UNSUPPORTED && status != SANDLOT_INVALID_ARGUMENT)
        return status;
    *done = staged_upload_fates(staged, text);
    return SANDLOT_OK;
}

static enum sandlot_status store_small(struct sandlot_call *call, struct sandbox *sandbox, struct staged_files *staged)
{
    AUTO_FREE char *bytes = NULL;
    size_t length = 0;
    bool done = false;
    enum sandlot_status status = archive_pack(call, staged->files, staged->count, &bytes, &length);

    if (status == SANDLOT_OK)
        status = carry(call, sandbox, staged, bytes, length, &done);
    return status == SANDLOT_OK && !done ? send_packed(call, sandbox, bytes, length) : status;
}

static enum sandlot_status store(struct sandlot_call *call, void *sandbox, struct staged_files *staged)
{
    return archive_is_small(staged->files, staged->count) ? store_small(call, sandbox, staged)
                                                          : send_stream(call, sandbox, staged->files, staged->count);
}

/* ---- upload ------------------------------------------------------------------------------------------------------ */

enum sandlot_status upload_new_file(struct sandlot_call *call, void *sandbox, const char *path,
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

STAGED_UPLOAD(upload_files, command_execute, .clean_up = command_clean_up, .store = store, .mode = PLAIN_MODE,
              .least = BATCH_MOVED + 1)

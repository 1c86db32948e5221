/*
 * POST .../files takes one whole file, of 100 MiB at most, and leaves it with a mode of its own. So files go to unseen
 * places first, large ones in pieces, and a script puts them into theirs. GET .../files answers with one whole file.
 */
#include "operations.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/kept_source.h>
#include <sandlot/sdk/printed_download.h>
#include <sandlot/sdk/text_format.h>
#include <string.h>

enum { KEPT_BYTES = 1 << 20, BATCH_LEAST = 16 };

static const uint64_t piece_bytes = 96 << 20;

/* ---- storing --------------------------------------------------------------------------------------------------- */

/* What goes into one request of a source. */
struct piece {
    struct sandlot_source source;
    const struct sandlot_source *own;
    uint64_t left;
};

static enum sandlot_status read_piece(const struct sandlot_source *source, void *buffer, size_t capacity,
                                      size_t *length)
{
    struct piece *piece = source->context;

    *length = 0;
    if (piece->left == 0)
        return SANDLOT_OK;
    enum sandlot_status status =
        piece->own->read(piece->own, buffer, capacity < piece->left ? capacity : (size_t)piece->left, length);

    piece->left -= *length;
    return status;
}

/* *LOST: no answer came, so that it may be there. */
static enum sandlot_status send_piece(struct sandlot_call *call, struct sandbox *sandbox, const char *path,
                                      const struct sandlot_source *source, uint64_t length, bool *lost)
{
    static const int asleep[] = {503, 0};
    AUTO_FREE char *target = http_target(SANDBOXES "/{}/files?path={}", sandbox->id, path);
    AUTO_RESPONSE struct http_response response = {0};
    struct kept_source kept;

    kept_source_open(&kept, source, KEPT_BYTES);
    const struct http_request request = {
        .method = "POST",
        .target = target,
        .body = {.source = &kept.source, .length = length, .rewind = kept_source_rewind, .rewind_context = &kept},
        .repeatable = true, /* it writes the same again */
        .accepted = asleep};
    enum sandlot_status status = sandbox_send(call, sandbox, &request, &response);

    *lost = status == SANDLOT_UNAVAILABLE && response.status == 0;
    kept_source_close(&kept);
    return status;
}

/* What does not fit at the path goes beside it, and is appended there. */
static enum sandlot_status store(struct sandlot_call *call, void *handle, struct staged_files *staged)
{
    const struct sandlot_file *file = staged->files;
    uint64_t left = file->length;
    bool known = left != UINT64_MAX;

    for (int number = 0;; number++) {
        uint64_t size = known && left < piece_bytes ? left : piece_bytes;
        struct piece piece = {.own = file->source, .left = size};
        AUTO_FREE char *name = number > 0 ? text_format("%s.%d", file->path, number) : strdup(file->path);

        piece.source = (struct sandlot_source){
            .size = sizeof(piece.source), .context = &piece, .read = read_piece, .poll_fd = file->source->poll_fd};
        if (!name)
            return http_no_memory(call);
        enum sandlot_status status =
            send_piece(call, handle, name, &piece.source, known ? size : HTTP_LENGTH_UNKNOWN, &staged->lost);

        if (status != SANDLOT_OK)
            return status;
        if (number > 0)
            fprintf(staged->first, "cat %s >>%s && rm -f %s || exit 1\n", name, file->path, name);
        left -= known ? size : 0;
        if (known ? left == 0 : piece.left > 0)
            return SANDLOT_OK;
    }
}

STAGED_PUT(files_put, command_execute, store)

STAGED_UPLOAD(files_upload, command_execute, .clean_up = command_clean_up, .store = store, .single = true,
              .carries = true, .least = BATCH_LEAST)

/* ---- reading --------------------------------------------------------------------------------------------------- */

/* What is wrong with the file, by the words of the service; NULL: nothing that we know. */
static const char *file_error(const struct http_response *response)
{
    static const struct {
        const char *code;
        const char *error;
    } errors[] = {{"file_not_found", "file_not_found"},   {"path_not_file", "is_directory"},
                  {"path_not_directory", "invalid_path"}, {"permission_denied", "permission_denied"},
                  {"bad_request", "invalid_path"},        {"invalid_request", "invalid_path"}};

    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
        if (api_says(response, errors[i].code))
            return errors[i].error;
    return api_says(response, "operation_failed") &&
                   (http_mentions(response, "not a directory") || http_mentions(response, "too long") ||
                    http_mentions(response, "too many"))
               ? "invalid_path"
               : NULL;
}

/* Who asks for JSON gets the file in an envelope. */
static enum sandlot_status fetch(struct sandlot_call *call, struct sandbox *sandbox, const struct sandlot_file *file,
                                 struct http_response *response)
{
    static const char *const headers[] = {"Accept: application/octet-stream", NULL};
    AUTO_FREE char *target = http_target(SANDBOXES "/{}/files?path={}", sandbox->id, file->path);
    const struct http_request request = {.method = "GET", .target = target, .headers = headers, .sink = file->sink};

    enum sandlot_status status = sandbox_send(call, sandbox, &request, response);
    const char *type = http_header(response, "Content-Type");

    if (status == SANDLOT_OK && type && strncasecmp(type, "application/octet-stream", 24) != 0)
        status = sandlot_fail(call, SANDLOT_INTERNAL,
                              SERVICE "'s answer to a download is no file (%.100s); try again, or report it", type);
    return status;
}

static enum sandlot_status download_one(struct sandlot_call *call, void *sandbox, const struct sandlot_file *file,
                                        size_t index, const struct sandlot_transfer *transfer)
{
    AUTO_RESPONSE struct http_response response = {0};
    struct attempt attempt;

    attempt_begin(&attempt, call, 0);
    enum sandlot_status status = fetch(&attempt.call, sandbox, file, &response);
    const char *error = status == SANDLOT_OK ? NULL : file_error(&response);

    if (status != SANDLOT_OK && !error)
        return attempt_fail(&attempt, status);
    transfer->done(transfer, index, error, error ? 0 : response.bytes);
    return SANDLOT_OK;
}

PRINTED_DOWNLOAD(files_download, command_execute, .one = download_one, .least = BATCH_LEAST, .utf8 = true)

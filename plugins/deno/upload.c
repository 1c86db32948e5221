#include "upload.h"

#include "command.h"
#include "sandbox.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/kept_source.h>
#include <sandlot/sdk/staged_upload.h>

enum {
    PIECE = 256 * 1024,
    KEPT = 1 << 20, /* a file of so many bytes can be sent again */
    ATTEMPTS = 3,
    NEW_MODE = 0600,
    PLAIN_MODE = 0644
};

/* ---- one file ---------------------------------------------------------------------------------------------------- */

/* A file on its way into the sandbox. */
struct pouring {
    struct line *line;
    int64_t stream;
    int64_t question;
    bool answered; /* before the end: it failed */
    struct line_fault fault;
    uint64_t bytes;
};

static enum sandlot_status begin(struct sandlot_call *call, struct pouring *pouring, const char *path)
{
    struct json_builder params = {0};

    pouring->stream = pouring->line->next_stream++;
    enum sandlot_status status = line_tell(call, pouring->line, "start", pouring->stream);

    if (status != SANDLOT_OK)
        return status;
    json_set_string(&params, "path", path);
    json_set_integer(&params, "contentStreamId", pouring->stream);
    json_set_integer(&params, "options.mode", NEW_MODE);
    return line_ask(call, pouring->line, "writeFile", &params, &pouring->question);
}

static enum sandlot_status take_answer(struct sandlot_call *call, struct pouring *pouring,
                                       const struct line_message *message)
{
    if (message->kind != LINE_ANSWER || message->id != pouring->question)
        return SANDLOT_OK;
    pouring->answered = true;
    return message->failed ? line_fail(call, &message->fault, "write a file") : SANDLOT_OK;
}

/* Everything that the source has. While that has nothing the line is looked after. */
static enum sandlot_status pour(struct sandlot_call *call, struct pouring *pouring, const struct sandlot_source *source,
                                uint64_t length)
{
    AUTO_FREE char *piece = malloc(PIECE);
    struct line_message message;
    size_t read = 1;
    enum sandlot_status status = piece ? SANDLOT_OK : http_no_memory(call);

    while (status == SANDLOT_OK && read > 0 && pouring->bytes < length && !pouring->answered) {
        uint64_t left = length - pouring->bytes;

        status = line_look(call, pouring->line, source->poll_fd, &message);
        if (status == SANDLOT_OK)
            status = take_answer(call, pouring, &message);
        if (status != SANDLOT_OK || message.kind != LINE_NOTHING)
            continue;
        status = source->read(source, piece, left < PIECE ? (size_t)left : PIECE, &read);
        if (status != SANDLOT_OK)
            return sandlot_fail(call, status, "what was to be sent to Deno's sandbox could not be read; try again");
        pouring->bytes += read;
        if (read > 0)
            status = line_enqueue(call, pouring->line, pouring->stream, piece, read);
    }
    if (status == SANDLOT_OK && length != UINT64_MAX && pouring->bytes < length && !pouring->answered)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "what was to be sent to Deno's sandbox is shorter than said");
    return status;
}

static enum sandlot_status finish(struct sandlot_call *call, struct pouring *pouring)
{
    struct line_message message;
    enum sandlot_status status = line_tell(call, pouring->line, "end", pouring->stream);

    while (status == SANDLOT_OK && !pouring->answered) {
        status = line_receive(call, pouring->line, &message);
        if (status == SANDLOT_OK)
            status = take_answer(call, pouring, &message);
    }
    return status;
}

static enum sandlot_status send_once(struct sandlot_call *call, struct sandbox *sandbox, const char *path,
                                     const struct sandlot_source *source, uint64_t length)
{
    struct pouring pouring = {0};
    enum sandlot_status status = sandbox_take(call, sandbox, &pouring.line);

    if (status != SANDLOT_OK)
        return status;
    status = begin(call, &pouring, path);
    if (status == SANDLOT_OK)
        status = pour(call, &pouring, source, length);
    if (status == SANDLOT_OK)
        status = finish(call, &pouring);
    /* A stream without an end would be waited for: the end of the line is its end. */
    pouring.line->broken = pouring.line->broken || status != SANDLOT_OK;
    sandbox_give(call, sandbox, pouring.line);
    return status;
}

/* What was lost on its way is sent again, unless it is too long to be kept. */
static enum sandlot_status store(struct sandlot_call *call, void *sandbox, struct staged_files *staged)
{
    const struct sandlot_file *file = staged->files;
    struct kept_source kept;
    struct attempt attempt;
    enum sandlot_status status;
    int i = 0;

    kept_source_open(&kept, file->source, KEPT);
    do {
        attempt_begin(&attempt, call, 0);
        status = send_once(&attempt.call, sandbox, file->path, &kept.source, file->length);
    } while (status == SANDLOT_UNAVAILABLE && ++i < ATTEMPTS && kept_source_rewind(&kept) == SANDLOT_OK);
    kept_source_close(&kept);
    staged->lost = status == SANDLOT_UNAVAILABLE;
    return status == SANDLOT_OK ? status : attempt_fail(&attempt, status);
}

STAGED_PUT(upload_new_file, command_execute, store)

STAGED_UPLOAD(upload_files, command_execute, .clean_up = command_clean_up, .store = store, .mode = PLAIN_MODE,
              .single = true, /* of many small ones only one answer is waited for */
              .carries = true, .least = 16)

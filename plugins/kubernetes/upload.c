/*
 * A file is the standard input of a program that writes it. Where the end of that input cannot be told (v4), the
 * program is told the length; where nobody knows that either, pieces of known length are written one behind the other.
 * Nobody sees a file before it is whole: see staged_upload.h.
 */
#include "command.h"
#include "files.h"
#include "pod.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/kept_source.h>
#include <sandlot/sdk/pause.h>
#include <sandlot/sdk/staged_upload.h>
#include <sandlot/sdk/text_sink.h>

#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEPT_BYTES = 1 << 20,
    ATTEMPTS = 4,
    FIRST_PAUSE_MS = 200,
    LONGEST_PAUSE_MS = 2000,
    PIECE_BYTES = 1 << 20,
    FATES_SIZE = 16384
};

#define LASTING "export " POD_CONNECTED "1; "

/* Not `>`: a program whose connection was given up may begin after the next one has written, and would empty the file.
 * What such a one writes late are the same bytes at the same place. */
static const char plain[] = LASTING "umask 077; cat 1<>\"$1\"";
static const char counted[] = LASTING "umask 077; head -c \"$2\" 1<>\"$1\"";
static const char appended[] = LASTING "umask 077; head -c \"$2\" >>\"$1\"";

/* ---- one program ------------------------------------------------------------------------------------------------- */

/* Waits for SOURCE, which may be a slow pipe. */
static enum sandlot_status await(struct sandlot_call *call, struct sandbox *sandbox, struct exec *exec,
                                 const struct sandlot_source *source)
{
    struct pollfd ready = {source->poll_fd, POLLIN, 0};
    enum sandlot_status status = SANDLOT_OK;
    bool over = false;

    sandbox_use(call, sandbox);
    while (status == SANDLOT_OK && !over && source->poll_fd >= 0 && poll(&ready, 1, 0) == 0)
        status = sandbox_take(call, sandbox, exec, source->poll_fd, NULL, &over);
    return status;
}

/* From SOURCE to the program, LENGTH bytes or all. */
static enum sandlot_status pump(struct sandlot_call *call, struct sandbox *sandbox, struct exec *exec,
                                const struct sandlot_source *source, uint64_t length)
{
    char bytes[EXEC_PIECE];

    for (uint64_t left = length; left > 0;) {
        size_t wanted = left < sizeof(bytes) ? (size_t)left : sizeof(bytes);
        size_t got = 0;
        enum sandlot_status status = await(call, sandbox, exec, source);

        if (status == SANDLOT_OK)
            status = source->read(source, bytes, wanted, &got);
        if (status == SANDLOT_OK && got == 0 && length != UINT64_MAX)
            return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                                "the file is shorter than was announced; send it again");
        if (status == SANDLOT_OK && got > 0)
            status = exec_send(call, exec, EXEC_INPUT, bytes, got);
        if (status != SANDLOT_OK || got == 0)
            return status;
        left -= length == UINT64_MAX ? 0 : got;
    }
    return SANDLOT_OK;
}

static enum sandlot_status finish(struct sandlot_call *call, struct sandbox *sandbox, struct exec *exec)
{
    enum sandlot_status status = exec_end_input(call, exec);

    if (status == SANDLOT_OK)
        status = sandbox_finish(call, sandbox, exec, NULL);
    if (status != SANDLOT_OK || (exec->status.ran && exec->status.exit_code == 0))
        return status;
    return exec->status.ran
               ? sandlot_fail(call, SANDLOT_EXHAUSTED,
                              "the sandbox could not store a file (exit code %d): /tmp is full, or not writable",
                              exec->status.exit_code)
               : sandlot_fail(call, SANDLOT_UNAVAILABLE, "Kubernetes could not store a file: %s; try again",
                              exec->status.why);
}

/* *UNENDING: the protocol cannot tell the end of an input, and nothing was read of SOURCE. */
static enum sandlot_status write_once(struct sandlot_call *call, struct sandbox *sandbox, const char *script,
                                      const char *path, const struct sandlot_source *source, uint64_t length,
                                      bool *unending)
{
    char number[32];
    const char *const words[] = {"sh", "-c", script, "sandlot-upload", path, number, NULL};
    struct exec exec;

    snprintf(number, sizeof(number), "%llu", (unsigned long long)length);
    enum sandlot_status status = sandbox_exec(call, sandbox, words, true, false, &exec);

    if (status != SANDLOT_OK)
        return status;
    *unending = length == UINT64_MAX && !exec.half_close;
    if (!*unending)
        status = pump(call, sandbox, &exec, source, length);
    if (!*unending && status == SANDLOT_OK)
        status = finish(call, sandbox, &exec);
    exec_free(&exec);
    return status;
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* Bytes in memory as a source. */
struct piece {
    struct sandlot_source source;
    const char *bytes;
    size_t length;
    size_t at;
};

static enum sandlot_status read_piece(const struct sandlot_source *source, void *buffer, size_t capacity,
                                      size_t *length)
{
    struct piece *piece = source->context;

    *length = piece->length - piece->at < capacity ? piece->length - piece->at : capacity;
    memcpy(buffer, piece->bytes + piece->at, *length);
    piece->at += *length;
    return SANDLOT_OK;
}

static enum sandlot_status fill(const struct sandlot_source *source, char *bytes, size_t capacity, size_t *length)
{
    enum sandlot_status status = SANDLOT_OK;

    *length = 0;
    for (size_t got = 1; got > 0 && *length < capacity && status == SANDLOT_OK;) {
        status = source->read(source, bytes + *length, capacity - *length, &got);
        *length += status == SANDLOT_OK ? got : 0;
    }
    return status;
}

/* A piece whose answer is lost is not sent again: it would be there twice. */
static enum sandlot_status write_pieces(struct sandlot_call *call, struct sandbox *sandbox, const char *path,
                                        const struct sandlot_source *source)
{
    AUTO_FREE char *bytes = malloc(PIECE_BYTES);
    enum sandlot_status status = SANDLOT_OK;
    const char *script = counted;

    if (!bytes)
        return http_no_memory(call);
    for (size_t length = PIECE_BYTES; status == SANDLOT_OK && length == PIECE_BYTES; script = appended) {
        struct piece piece = {.bytes = bytes};
        bool unending;

        status = fill(source, bytes, PIECE_BYTES, &length);
        piece.length = length;
        piece.source =
            (struct sandlot_source){.size = sizeof(piece.source), .context = &piece, .read = read_piece, .poll_fd = -1};
        if (status == SANDLOT_OK)
            status = write_once(call, sandbox, script, path, &piece.source, length, &unending);
    }
    return status;
}

/* ---- storing ----------------------------------------------------------------------------------------------------- */

/* Again after a connection that broke, as long as the beginning of what was read is kept. */
static enum sandlot_status write_file(struct sandlot_call *call, struct sandbox *sandbox, const char *path,
                                      struct kept_source *kept, uint64_t length)
{
    int pause_ms = FIRST_PAUSE_MS;
    bool unending = false;

    for (int number = 1;; number++) {
        struct attempt attempt;

        attempt_begin(&attempt, call, 0);
        enum sandlot_status status = write_once(&attempt.call, sandbox, length == UINT64_MAX ? plain : counted, path,
                                                &kept->source, length, &unending);

        if (status == SANDLOT_OK && unending)
            return write_pieces(call, sandbox, path, &kept->source);
        if (status == SANDLOT_OK)
            return status;
        if (status != SANDLOT_UNAVAILABLE || number == ATTEMPTS || kept_source_rewind(kept) != SANDLOT_OK)
            return attempt_fail(&attempt, status);
        status = pause_longer(call, "Kubernetes", &pause_ms, LONGEST_PAUSE_MS);
        if (status != SANDLOT_OK)
            return status;
    }
}

enum sandlot_status files_put(struct sandlot_call *call, void *handle, const char *path,
                              const struct sandlot_source *source, uint64_t length)
{
    struct kept_source kept;

    kept_source_open(&kept, source, KEPT_BYTES);
    enum sandlot_status status = write_file(call, handle, path, &kept, length);

    kept_source_close(&kept);
    return status;
}

/* ---- storing and placing at once --------------------------------------------------------------------------------- */

/* The file and, behind it, the script that puts it into its place: what is there of the one is cut off the other. (A
 * shell cannot read the script itself from where a program before it read: some read too far.) Without a script the
 * connection was given up, and of one that broke in the middle nothing is done: it is one command in braces. */
static const char placed[] =
    LASTING "umask 077; cat 1<>\"$1\" && s=$(tail -c \"+$(($2 + 1))\" \"$1\") && [ \"$s\" ] &&\n"
            "dd if=/dev/null of=\"$1\" bs=1 seek=\"$2\" 2>/dev/null && eval \"$s\"";

static enum sandlot_status send_script(struct sandlot_call *call, struct sandbox *sandbox, struct exec *exec,
                                       struct staged_files *staged)
{
    AUTO_FREE char *script = staged_upload_script(staged);
    AUTO_FREE char *text = calloc(1, FATES_SIZE);
    AUTO_FREE char *whole = NULL;
    struct text_sink said;

    if (!script || !text)
        return http_no_memory(call);
    if (asprintf(&whole, "{\n%s\n}\n", script) < 0) {
        whole = NULL;
        return http_no_memory(call);
    }
    text_sink_init(&said, text, FATES_SIZE);
    enum sandlot_status status = exec_send(call, exec, EXEC_INPUT, whole, strlen(whole));

    if (status == SANDLOT_OK)
        status = exec_end_input(call, exec);
    if (status == SANDLOT_OK)
        status = sandbox_finish(call, sandbox, exec, &said.sink);
    if (status == SANDLOT_OK)
        staged_upload_fates(staged, text); /* without one the host asks again */
    return status;
}

/* *UNENDING: the script would never come to its end, and nothing was read. */
static enum sandlot_status place_once(struct sandlot_call *call, struct sandbox *sandbox, struct staged_files *staged,
                                      const struct sandlot_source *source, bool *unending)
{
    const struct sandlot_file *file = staged->files;
    char number[32];
    const char *const words[] = {"sh", "-c", placed, "sandlot-upload", file->path, number, NULL};
    struct exec exec;

    snprintf(number, sizeof(number), "%llu", (unsigned long long)file->length);
    enum sandlot_status status = sandbox_exec(call, sandbox, words, true, false, &exec);

    if (status != SANDLOT_OK)
        return status;
    *unending = !exec.half_close;
    if (!*unending)
        status = pump(call, sandbox, &exec, source, file->length);
    if (!*unending && status == SANDLOT_OK)
        status = send_script(call, sandbox, &exec, staged);
    exec_free(&exec);
    return status;
}

static enum sandlot_status store_and_place(struct sandlot_call *call, struct sandbox *sandbox,
                                           struct staged_files *staged, struct kept_source *kept, bool *unending)
{
    int pause_ms = FIRST_PAUSE_MS;

    for (int number = 1;; number++) {
        struct attempt attempt;

        attempt_begin(&attempt, call, 0);
        enum sandlot_status status = place_once(&attempt.call, sandbox, staged, &kept->source, unending);

        if (status == SANDLOT_OK)
            return status;
        if (status != SANDLOT_UNAVAILABLE || number == ATTEMPTS || kept_source_rewind(kept) != SANDLOT_OK)
            return attempt_fail(&attempt, status);
        status = pause_longer(call, "Kubernetes", &pause_ms, LONGEST_PAUSE_MS);
        if (status != SANDLOT_OK)
            return status;
    }
}

static enum sandlot_status store_alone(struct sandlot_call *call, void *handle, struct staged_files *staged)
{
    enum sandlot_status status =
        files_put(call, handle, staged->files->path, staged->files->source, staged->files->length);

    staged->lost = status == SANDLOT_UNAVAILABLE;
    return status;
}

static enum sandlot_status store(struct sandlot_call *call, void *handle, struct staged_files *staged)
{
    struct kept_source kept;
    bool unending = false;

    if (staged->files->length == UINT64_MAX || staged->count != 1)
        return store_alone(call, handle, staged);
    kept_source_open(&kept, staged->files->source, KEPT_BYTES);
    enum sandlot_status status = store_and_place(call, handle, staged, &kept, &unending);

    kept_source_close(&kept);
    staged->lost = status == SANDLOT_UNAVAILABLE;
    return unending ? store_alone(call, handle, staged) : status;
}

STAGED_UPLOAD(files_upload, command_execute, .clean_up = command_clean_up, .store = store, .mode = 0644, .single = true,
              .carries = true, .least = 16)

/* download: chunks as base64, each with its sum; many in one command where output comes as it appears. */
#include "base/cleanup.h"
#include "base/error.h"
#include "operations/derived/derived.h"
#include "operations/derived/download_box.h"
#include "operations/derived/frame.h"
#include "operations/derived/transfer.h"
#include "operations/file_error.h"
#include "operations/local_file.h"

#include <errno.h>
#include <string.h>

enum {
    CHUNKS_AT_ONCE = 64 /* of one command whose output comes as it appears */
};

struct download {
    const struct file_call *call;
    int target_fd;
    struct sums sums;              /* of all that was written */
    char state[FRAME_WORD + 1];    /* of the file when it was first looked at; "": not yet */
    bool last;                     /* its end was reached */
    char chunk_sum[SUMS_TOLD + 1]; /* as the sandbox says */
    struct frame_bytes chunk;
    bool came;                     /* a chunk of the command at hand */
    char whole_sum[SUMS_TOLD + 1]; /* the same; "": there is but one chunk */
    bool has_size;
    uint64_t size;
};

static int note_state(struct download *download, const char *state, struct sandlot_error *error)
{
    if (!download->state[0])
        memcpy(download->state, state, strlen(state) + 1);
    if (strcmp(download->state, state) == 0)
        return 0;
    return error_set(error, SANDLOT_CODE_PROVIDER_ERROR,
                     "'%s' changed while it was being downloaded; try again when nothing writes to it",
                     download->call->shown);
}

/* The sandbox may make the size up: what comes is counted too. */
static int note_size(struct download *download, const char *value, struct sandlot_error *error)
{
    const struct byte_bound *bound = download->call->bound;
    const uint64_t came = download->sums.cksum.bytes;

    if (frame_number(value, &download->size, error) < 0)
        return -1;
    if (bound && download->size > came && download->size - came > bound->left)
        return file_error_bound(error, download->call);
    return 0;
}

static int read_sum(char sum[SUMS_TOLD + 1], const char *value, struct sandlot_error *error)
{
    if (strlen(value) > SUMS_TOLD)
        return frame_damaged(error, "a sum is none");
    memcpy(sum, value, strlen(value) + 1);
    return 0;
}

static int read_word(void *context, const char *name, const char *value, struct sandlot_error *error)
{
    struct download *download = context;

    if (strcmp(name, "before") == 0 || strcmp(name, "after") == 0)
        return note_state(download, value, error);
    if (strcmp(name, "sum") == 0)
        return read_sum(download->chunk_sum, value, error);
    if (strcmp(name, "whole") == 0)
        return read_sum(download->whole_sum, value, error);
    download->has_size = download->has_size || strcmp(name, "size") == 0;
    if (strcmp(name, "size") == 0)
        return note_size(download, value, error);
    download->last = strcmp(name, "last") == 0;
    return download->last ? 0 : frame_damaged(error, "there is a record that nobody asked for");
}

static int write_chunk(struct download *download, struct sandlot_error *error)
{
    struct frame_bytes *chunk = &download->chunk;

    if (download->call->bound && chunk->length > download->call->bound->left)
        return file_error_bound(error, download->call);
    if (local_write(download->target_fd, chunk->bytes, chunk->length) < 0)
        return error_set(error, errno == ENOSPC ? SANDLOT_CODE_NO_SPACE : SANDLOT_CODE_INTERNAL_ERROR,
                         "cannot write what was downloaded of '%s': %s", download->call->shown, strerror(errno));
    sums_add(&download->sums, chunk->bytes, chunk->length);
    if (download->call->moved && chunk->length > 0)
        download->call->moved(download->call->context, chunk->length);
    chunk->length = 0;
    return 0;
}

/* A chunk is there: only what is right is written, and the last one only when the command has ended well, for else it
 * comes again. */
static int take_chunk(struct download *download, struct sandlot_error *error)
{
    const struct frame_bytes *chunk = &download->chunk;
    struct sums sums;

    sums_init(&sums);
    sums_add(&sums, chunk->bytes, chunk->length);
    if (!sums_match(&sums, download->chunk_sum))
        return frame_damaged(error, "a chunk does not have the sum that it should have");
    download->came = true;
    return chunk->length == TRANSFER_CHUNK ? write_chunk(download, error) : 0;
}

static int read_data(void *context, const char *name, const void *bytes, size_t length, struct sandlot_error *error)
{
    struct download *download = context;

    if (strcmp(name, "chunk") != 0)
        return frame_damaged(error, "there is a record that nobody asked for");
    return length > 0 ? frame_bytes_add(&download->chunk, bytes, length, error) : take_chunk(download, error);
}

static int check_whole(const struct download *download, struct sandlot_error *error)
{
    if ((!download->has_size || download->size == download->sums.cksum.bytes) &&
        (!download->whole_sum[0] || sums_match(&download->sums, download->whole_sum)))
        return 0;
    return error_set(error, SANDLOT_CODE_PROVIDER_ERROR,
                     "'%s' changed while it was being downloaded; try again when nothing writes to it",
                     download->call->shown);
}

/* Fetches what comes next, in one command. */
static int fetch(struct download *download, struct sandlot_error *error)
{
    const struct frame_receiver receiver = {download, read_word, read_data};
    uint32_t flags = download->call->session->provider->table.flags;
    int chunks = flags & SANDLOT_STREAMS_OUTPUT ? CHUNKS_AT_ONCE : 1;
    const struct file_call step = transfer_step(download->call, (uint64_t)chunks * TRANSFER_CHUNK);
    const uint64_t before = download->sums.cksum.bytes;
    CLEANUP(script_clear) struct script script;

    script_init(&script);
    script_set(&script, "f", download->call->path);
    script_format(&script, "c=%d k=%llu n=%d\n", TRANSFER_CHUNK,
                  (unsigned long long)(download->sums.cksum.bytes / TRANSFER_CHUNK), chunks);
    script_add_sums(&script);
    script_add(&script, download_box);
    download->chunk.length = 0;
    download->last = download->came = false;
    if (frame_run(&step, &script, &receiver, error) < 0)
        return -1;
    /* Only the last chunk is shorter, or empty, and there is one in any case, or this would go on for ever. */
    if (!download->came || (!download->last && (download->chunk.length > 0 || download->sums.cksum.bytes == before)))
        return frame_damaged(error, "a chunk is missing");
    return download->chunk.length > 0 ? write_chunk(download, error) : 0;
}

int derived_download(const struct file_call *call, int target_fd, uint64_t *bytes, struct sandlot_error *error)
{
    struct download download = {.call = call, .target_fd = target_fd, .chunk = {.maximum = TRANSFER_CHUNK}};
    uint64_t before = 0;
    int tries = 0;
    int failed = 0;

    sums_init(&download.sums);
    do {
        struct sandlot_error why = {0};

        failed = fetch(&download, &why);
        tries = download.sums.cksum.bytes > before ? 0 : tries;
        before = download.sums.cksum.bytes;
        bool again = failed && transfer_again(call, ++tries, &why);

        if (failed && !again)
            error_set(error, why.code, "%s", why.message);
        sandlot_error_clear(&why);
        if (failed && !again)
            break;
    } while (failed || !download.last);
    *bytes = download.sums.cksum.bytes;
    frame_bytes_clear(&download.chunk);
    return failed ? -1 : check_whole(&download, error);
}

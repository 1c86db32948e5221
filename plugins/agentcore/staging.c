#include "staging.h"

#include "invoke.h"

#include <sandlot/sdk/base64.h>
#include <sandlot/sdk/cleanup.h>

#include <inttypes.h>
#include <string.h>

enum {
    MOST_CONTENT = 6 << 20, /* bytes in one request, a multiple of 3: 8 MiB of base64 */
    LEAST_CONTENT = 48 * 1024,
    MOST_FILES = 256,  /* in one request */
    FILE_ROOM = 128,   /* for what stands around the content of one */
    BLOCK = 48 * 1024, /* read at a time; a multiple of 3 */
    TOOL_MS = 60 * 1000
};

static const char body_begin[] = "{\"name\":\"writeFiles\",\"arguments\":{\"content\":[";
static const char body_end[] = "]}}";

enum sandlot_status staging_open(struct staging *staging, struct sandlot_call *call, struct sandbox *sandbox,
                                 uint64_t largest)
{
    *staging = (struct staging){.call = call, .sandbox = sandbox};
    staging->capacity = largest > MOST_CONTENT    ? MOST_CONTENT
                        : largest < LEAST_CONTENT ? LEAST_CONTENT
                                                  : ((size_t)largest + 2) / 3 * 3;
    /* Each file may have an unfinished group of three bytes. */
    staging->body = malloc(sizeof(body_begin) + sizeof(body_end) + staging->capacity / 3 * 4 + MOST_FILES * FILE_ROOM);
    return staging->body ? SANDLOT_OK : http_no_memory(call);
}

void staging_close(struct staging *staging)
{
    free(staging->body);
    staging->body = NULL;
}

/* ---- a request --------------------------------------------------------------------------------------------------- */

static void add_text(struct staging *staging, const char *text)
{
    size_t length = strlen(text);

    memcpy(staging->body + staging->length, text, length);
    staging->length += length;
}

enum sandlot_status staging_finish(struct staging *staging)
{
    if (staging->files == 0)
        return SANDLOT_OK;
    add_text(staging, body_end);
    const struct invocation invocation = {.body = staging->body, .length = staging->length, .longest_ms = TOOL_MS};

    staging->length = staging->carried = staging->files = 0;
    return invoke_surely(staging->call, staging->sandbox, &invocation, "store files");
}

/* Begins a file in the request at hand, or in the next one if that is full. */
static enum sandlot_status begin_file(struct staging *staging, const char *path, size_t piece)
{
    enum sandlot_status status = SANDLOT_OK;
    char number[24] = "";
    char head[FILE_ROOM];

    if (staging->files == MOST_FILES || staging->capacity - staging->carried < 3 * MOST_FILES)
        status = staging_finish(staging);
    if (staging->files == 0)
        add_text(staging, body_begin);
    if (piece > 0)
        snprintf(number, sizeof(number), ".%zu", piece);
    snprintf(head, sizeof(head), "%s{\"path\":\"%.60s%s\",\"blob\":\"", staging->files > 0 ? "," : "", path, number);
    add_text(staging, head);
    staging->files++;
    return status;
}

/* ---- content ----------------------------------------------------------------------------------------------------- */

/* Reads until BLOCK is full or the content ends. *LENGTH below WANTED: it has ended. */
static enum sandlot_status read_block(const struct sandlot_source *source, unsigned char *block, size_t wanted,
                                      size_t *length)
{
    size_t got = 1;
    enum sandlot_status status = SANDLOT_OK;

    for (*length = 0; status == SANDLOT_OK && *length < wanted && got > 0; *length += got) {
        got = 0;
        status = source->read(source, block + *length, wanted - *length, &got);
    }
    return status;
}

/* One piece: what fits into the request at hand. *ENDED: there is no more. */
static enum sandlot_status add_piece(struct staging *staging, const struct sandlot_source *source, uint64_t left,
                                     uint64_t *added, bool *ended)
{
    unsigned char block[BLOCK];
    size_t room = (staging->capacity - staging->carried) / 3 * 3;

    *added = 0;
    *ended = left == 0;
    while (room > 0 && !*ended) {
        size_t wanted = room < BLOCK ? room : BLOCK;
        size_t length = 0;

        wanted = left < wanted ? (size_t)left : wanted;
        enum sandlot_status status = read_block(source, block, wanted, &length);

        if (status != SANDLOT_OK)
            return status;
        staging->length += base64_write(staging->body + staging->length, block, length);
        staging->carried += length;
        *added += length;
        left -= left == UINT64_MAX ? 0 : length;
        room -= length;
        *ended = length < wanted || left == 0;
    }
    add_text(staging, "\"}");
    return SANDLOT_OK;
}

enum sandlot_status staging_add(struct staging *staging, const char *path, const struct sandlot_source *source,
                                uint64_t length, size_t *pieces)
{
    uint64_t bytes = 0;
    bool ended = false;

    for (*pieces = 0; !ended; ++*pieces) {
        uint64_t added = 0;
        enum sandlot_status status = begin_file(staging, path, *pieces);

        if (status == SANDLOT_OK)
            status = add_piece(staging, source, length == UINT64_MAX ? length : length - bytes, &added, &ended);
        if (status != SANDLOT_OK)
            return status;
        bytes += added;
    }
    if (length != UINT64_MAX && bytes < length)
        return sandlot_fail(staging->call, SANDLOT_INVALID_ARGUMENT,
                            "the content of a file ended after %" PRIu64 " of its %" PRIu64 " bytes; upload it again",
                            bytes, length);
    return SANDLOT_OK;
}

/* What the gRPC client makes of a stranger's headers, trailers and frames. */
#include <sandlot/sdk/frames.h>

#include "../../sdk/lib/grpc_answer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum sandlot_status on_frame(void *context, unsigned char flags, const void *payload, size_t length)
{
    size_t *total = context;

    (void)flags;
    *total += length;
    return payload ? SANDLOT_OK : SANDLOT_INTERNAL;
}

/* In pieces of every size: what comes out is the same. */
static size_t read_frames(const uint8_t *data, size_t size, size_t piece)
{
    struct frames reader;
    size_t total = 0;

    frames_init(&reader, NULL, &frame_format_connect, 4096, on_frame, &total);
    for (size_t at = 0; at < size; at += piece)
        if (frames_add(&reader, data + at, size - at < piece ? size - at : piece) != SANDLOT_OK)
            break;
    total = total * 2 + (frames_end(&reader) == SANDLOT_OK);
    frames_clear(&reader);
    return total;
}

static void read_headers(const char *text, size_t size)
{
    struct grpc_verdict verdict;

    grpc_verdict_read(&verdict, text, size);
    if (verdict.code < GRPC_NO_CODE || strlen(verdict.text) >= sizeof(verdict.text) ||
        strpbrk(verdict.text, "\n\r\x1b") || !grpc_code_name(verdict.code) ||
        (verdict.code > 0 && grpc_status_of(verdict.code) == SANDLOT_OK) ||
        (verdict.details && verdict.details_length > GRPC_LONGEST_DETAILS))
        abort();
    grpc_verdict_clear(&verdict);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    if (data[0] % 2)
        read_headers((const char *)data + 1, size - 1);
    else if (read_frames(data + 1, size - 1, 1 + data[1] % 16) != read_frames(data + 1, size - 1, size))
        abort();
    return 0;
}

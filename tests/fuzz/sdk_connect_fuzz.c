/* Streams of Connect, any bytes cut anywhere: the cut makes no difference, and nothing but a good end is well. */
#include "../../sdk/lib/connect_answer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum sandlot_status on_message(void *context, struct json_object *message)
{
    size_t *told = context;

    *told = *told * 31 + json_object_object_length(message);
    return SANDLOT_OK;
}

static int read_all(const uint8_t *data, size_t size, size_t piece, size_t *told)
{
    struct connect_reader reader;

    *told = 0;
    connect_reader_init(&reader, LIMIT, on_message, told);
    for (size_t at = 0; at < size; at += piece)
        if (frames_add(&reader.frames, data + at, size - at < piece ? size - at : piece) != SANDLOT_OK)
            break;
    connect_reader_end(&reader);
    int code = reader.code;

    if (code < GRPC_OK || code > GRPC_UNAUTHENTICATED || strlen(reader.text) >= sizeof(reader.text) ||
        strpbrk(reader.text, "\n\r\x1b") || (code == GRPC_OK && !reader.over))
        abort();
    connect_reader_clear(&reader);
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t pieces;
    size_t whole;

    if (size < 2)
        return 0;
    if (read_all(data + 1, size - 1, data[0] % 32 + 1U, &pieces) != read_all(data + 1, size - 1, size, &whole) ||
        pieces != whole)
        abort();
    return 0;
}

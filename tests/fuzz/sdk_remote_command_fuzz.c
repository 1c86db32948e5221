/* What a sandbox answers to the script of a command, any bytes cut anywhere: bounds are kept, the cut makes no
 * difference, and no end is believed before the output is complete. */
#include "../../sdk/lib/remote_command_answer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char token[] = "0123456789abcdef0123456789abcdef";
static const char seal[] = "fedcba9876543210fedcba9876543210";

struct told {
    uint64_t sum;
    uint64_t length;
    uint64_t offset;
    enum remote_verdict verdict;
    int code;
    bool sealed;
};

static enum sandlot_status on_output(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct told *told = sink->context;
    const unsigned char *at = bytes;

    for (size_t i = 0; i < length; i++)
        told->sum = told->sum * 31 + at[i];
    told->length += length;
    return SANDLOT_OK;
}

static void read_all(const uint8_t *data, size_t size, size_t piece, struct told *told)
{
    const struct sandlot_sink sink = {.size = sizeof(sink), .context = told, .write = on_output};
    struct remote_output output;
    struct remote_answer answer;

    *told = (struct told){0};
    if (!remote_output_open(&output, &sink, seal))
        abort();
    remote_answer_init(&answer, &output, token);
    for (size_t at = 0; at < size; at += piece)
        answer.sink.write(&answer.sink, data + at, size - at < piece ? size - at : piece);
    remote_answer_finish(&answer);
    remote_output_finish(&output);
    told->offset = output.offset;
    told->verdict = answer.verdict;
    told->code = answer.code;
    told->sealed = output.sealed;
    if (answer.verdict == REMOTE_END && !output.sealed)
        abort();
    if (told->length > output.offset)
        abort();
    remote_output_close(&output);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct told whole;
    struct told pieces;

    if (size < 1)
        return 0;
    read_all(data + 1, size - 1, SIZE_MAX / 2, &whole);
    read_all(data + 1, size - 1, 1 + data[0] % 64, &pieces);
    if (whole.sum != pieces.sum || whole.length != pieces.length || whole.offset != pieces.offset ||
        whole.verdict != pieces.verdict || whole.code != pieces.code || whole.sealed != pieces.sealed)
        abort();
    return 0;
}

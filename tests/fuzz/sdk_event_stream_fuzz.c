/*
 * Event streams: any bytes cut anywhere. The bounds are kept, and the cut makes no difference. The checksums would stop
 * nearly everything at the door, so where the input asks for it they are set right first.
 */
#include <sandlot/sdk/event_stream.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT = 512, PRELUDE = 12 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct told {
    uint64_t sum;
    size_t count;
};

static void add(struct told *told, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < length; i++)
        told->sum = told->sum * 31 + at[i];
}

static enum sandlot_status on_message(void *context, const struct event_stream_message *message)
{
    struct told *told = context;

    if (message->length > LIMIT)
        abort();
    told->sum = told->sum * 31 + message->kind;
    add(told, message->type, strlen(message->type));
    add(told, message->content_type, strlen(message->content_type));
    add(told, message->text, strlen(message->text));
    add(told, message->payload, message->length);
    told->count++;
    return SANDLOT_OK;
}

static enum sandlot_status read_all(const uint8_t *data, size_t size, size_t piece, struct told *told)
{
    struct event_stream reader;

    *told = (struct told){0};
    event_stream_init(&reader, NULL, LIMIT, on_message, told);
    for (size_t at = 0; at < size; at += piece)
        event_stream_add(&reader, data + at, size - at < piece ? size - at : piece);
    enum sandlot_status status = event_stream_end(&reader);

    event_stream_clear(&reader);
    return status;
}

static uint32_t read_number(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void write_sum(uint8_t *at, const uint8_t *bytes, size_t length)
{
    uint32_t sum = UINT32_MAX;

    for (size_t i = 0; i < length; i++) {
        sum ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? UINT32_C(0xedb88320) : 0);
    }
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(~sum >> (24 - 8 * i));
}

/* Sets the checksums of all messages that lie whole in the input. */
static void mend(uint8_t *bytes, size_t size)
{
    while (size >= PRELUDE + 4) {
        size_t total = read_number(bytes);

        write_sum(bytes + 8, bytes, 8);
        if (total < PRELUDE + 4 || total > size)
            return;
        write_sum(bytes + total - 4, bytes, total - 4);
        bytes += total;
        size -= total;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct told pieces;
    struct told whole;

    if (size < 2)
        return 0;
    size_t length = size - 1;
    uint8_t *copy = malloc(length);

    if (!copy)
        return 0;
    memcpy(copy, data + 1, length);
    if (data[0] & 1)
        mend(copy, length);
    enum sandlot_status one = read_all(copy, length, (data[0] >> 1) % 32 + 1U, &pieces);
    enum sandlot_status other = read_all(copy, length, length, &whole);

    free(copy);
    if (one != other || pieces.sum != whole.sum || pieces.count != whole.count)
        abort();
    return 0;
}

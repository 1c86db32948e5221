/* A stream of server-sent events, any bytes cut anywhere: bounds are kept, and the cut makes no difference. */
#include <sandlot/sdk/sse.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT = 256 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct told {
    uint64_t sum;
    size_t count;
};

static void add(struct told *told, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        told->sum = told->sum * 31 + (unsigned char)text[i] + 1;
}

static enum sandlot_status on_event(void *context, const struct sse_event *event)
{
    struct told *told = context;

    if (event->length > LIMIT || event->data[event->length] != '\0' || !event->type || !event->id)
        abort();
    add(told, event->data, event->length);
    add(told, event->type, strlen(event->type));
    add(told, event->id, strlen(event->id));
    told->count++;
    return SANDLOT_OK;
}

static enum sandlot_status read_all(const uint8_t *data, size_t size, size_t piece, struct told *told)
{
    struct sse reader;

    *told = (struct told){0};
    sse_init(&reader, NULL, LIMIT, on_event, told);
    for (size_t at = 0; at < size; at += piece)
        sse_add(&reader, data + at, size - at < piece ? size - at : piece);
    enum sandlot_status status = reader.status;

    sse_clear(&reader);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct told pieces;
    struct told whole;

    if (size < 1)
        return 0;
    enum sandlot_status one = read_all(data + 1, size - 1, data[0] % 32 + 1U, &pieces);
    enum sandlot_status other = read_all(data + 1, size - 1, size, &whole);

    if (one != other || pieces.sum != whole.sum || pieces.count != whole.count)
        abort();
    return 0;
}

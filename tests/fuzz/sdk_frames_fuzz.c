/* Length-prefixed frames of every format, any bytes cut anywhere: bounds are kept, and the cut makes no difference. */
#include <sandlot/sdk/frames.h>

#include <stdint.h>
#include <stdlib.h>

enum { LIMIT = 256 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct told {
    uint64_t sum;
    size_t count;
};

static enum sandlot_status on_frame(void *context, unsigned char flags, const void *payload, size_t length)
{
    struct told *told = context;
    const unsigned char *bytes = payload;

    if (length > LIMIT)
        abort();
    told->sum = told->sum * 31 + flags + length;
    for (size_t i = 0; i < length; i++)
        told->sum = told->sum * 31 + bytes[i];
    told->count++;
    return SANDLOT_OK;
}

static enum sandlot_status read_all(const struct frame_format *format, const uint8_t *data, size_t size, size_t piece,
                                    struct told *told)
{
    struct frames reader;

    *told = (struct told){0};
    frames_init(&reader, NULL, format, LIMIT, on_frame, told);
    for (size_t at = 0; at < size; at += piece)
        frames_add(&reader, data + at, size - at < piece ? size - at : piece);
    enum sandlot_status status = frames_end(&reader);

    frames_clear(&reader);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct told pieces;
    struct told whole;

    if (size < 2)
        return 0;
    const struct frame_format format = {data[0] & 1, (unsigned char)(1 << (data[0] >> 1) % 3), data[0] >> 7};
    enum sandlot_status one = read_all(&format, data + 2, size - 2, data[1] % 32 + 1U, &pieces);
    enum sandlot_status other = read_all(&format, data + 2, size - 2, size, &whole);

    if (one != other || pieces.sum != whole.sum || pieces.count != whole.count)
        abort();
    return 0;
}

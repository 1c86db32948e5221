#include <sandlot/sdk/frames.h>

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 4096 };

const struct frame_format frame_format_connect = {.flag_bytes = 1, .length_bytes = 4, .little_endian = false};
const struct frame_format frame_format_engine = {.flag_bytes = 4, .length_bytes = 4, .little_endian = false};

static enum sandlot_status stop(struct frames *reader, const char *why)
{
    reader->status = SANDLOT_INTERNAL;
    if (reader->call)
        sandlot_fail(reader->call, SANDLOT_INTERNAL,
                     "a frame of the stream could not be read: %s; report it to the author of the provider", why);
    return reader->status;
}

static size_t head_size(const struct frame_format *format)
{
    return (size_t)format->flag_bytes + format->length_bytes;
}

static size_t announced(const struct frames *reader)
{
    const unsigned char *bytes = reader->head + reader->format.flag_bytes;
    size_t count = reader->format.length_bytes;
    size_t length = 0;

    for (size_t i = 0; i < count; i++)
        length = length << 8 | bytes[reader->format.little_endian ? count - 1 - i : i];
    return length;
}

/* Are the flags but for the first byte zero? */
static bool is_head(const struct frames *reader)
{
    for (size_t i = 1; i < reader->format.flag_bytes; i++)
        if (reader->head[i] != 0)
            return false;
    return true;
}

static void pass_on(struct frames *reader, const void *payload, size_t length)
{
    unsigned char flags = reader->format.flag_bytes ? reader->head[0] : 0;

    reader->head_length = 0;
    reader->length = 0;
    reader->status = reader->frame(reader->context, flags, payload, length);
}

/* Grows with what has come, not with what was announced: a stranger's number costs no memory. */
static bool reserve(struct frames *reader, size_t wanted, size_t most)
{
    size_t capacity = reader->capacity ? reader->capacity : FIRST_CAPACITY;

    if (wanted <= reader->capacity)
        return true;
    while (capacity < wanted)
        capacity *= 2;
    capacity = capacity > most && wanted <= most ? most : capacity;
    unsigned char *grown = realloc(reader->payload, capacity);

    if (!grown) {
        stop(reader, "there is not enough memory");
        return false;
    }
    reader->payload = grown;
    reader->capacity = capacity;
    return true;
}

/* Takes of the payload what is there; returns how many bytes that was. */
static size_t take_payload(struct frames *reader, const unsigned char *bytes, size_t length, size_t whole)
{
    size_t missing = whole - reader->length;

    if (reader->length == 0 && missing <= length) {
        pass_on(reader, bytes, whole);
        return missing;
    }
    size_t taken = missing < length ? missing : length;

    if (!reserve(reader, reader->length + taken, whole))
        return 0;
    memcpy(reader->payload + reader->length, bytes, taken);
    reader->length += taken;
    if (reader->length == whole)
        pass_on(reader, reader->payload, whole);
    return taken;
}

enum sandlot_status frames_add(struct frames *reader, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    const unsigned char *end = at + length;

    while (reader->status == SANDLOT_OK && !reader->finished && at < end) {
        if (reader->head_length < head_size(&reader->format)) {
            reader->head[reader->head_length++] = *at++;
            if (reader->head_length < head_size(&reader->format))
                continue;
            if (!is_head(reader))
                stop(reader, "its beginning makes no sense");
            else if (announced(reader) > reader->limit)
                stop(reader, "it is longer than it may be");
            else if (announced(reader) == 0)
                pass_on(reader, reader->head, 0);
            continue;
        }
        at += take_payload(reader, at, (size_t)(end - at), announced(reader));
    }
    return reader->status;
}

enum sandlot_status frames_end(struct frames *reader)
{
    if (reader->status == SANDLOT_OK && !reader->finished && reader->head_length > 0)
        stop(reader, "the stream ended inside of it");
    return reader->status;
}

static enum sandlot_status write_to(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    return frames_add(sink->context, bytes, length);
}

void frames_init(struct frames *reader, struct sandlot_call *call, const struct frame_format *format, size_t limit,
                 frames_function frame, void *context)
{
    *reader = (struct frames){
        .sink = {.size = sizeof(reader->sink), .context = reader, .write = write_to},
        .call = call,
        .format = *format,
        .frame = frame,
        .context = context,
        .limit = limit,
    };
}

void frames_clear(struct frames *reader)
{
    free(reader->payload);
    reader->payload = NULL;
    reader->capacity = reader->length = 0;
}

size_t frame_head(const struct frame_format *format, unsigned char flags, size_t length, unsigned char *head)
{
    size_t count = format->length_bytes;

    if (count < sizeof(length) && length >> (8 * count))
        return 0;
    if (format->flag_bytes)
        head[0] = flags;
    for (size_t i = 1; i < format->flag_bytes; i++)
        head[i] = 0;
    for (size_t i = 0; i < count; i++) {
        size_t shift = 8 * (format->little_endian ? i : count - 1 - i);

        head[format->flag_bytes + i] = (unsigned char)(length >> shift);
    }
    return head_size(format);
}

/*
 * A message: its length and that of its headers (4 bytes each), a checksum of these 8, the headers, the payload, and a
 * checksum of all that. Numbers are big endian.
 */
#include <sandlot/sdk/event_stream.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    PRELUDE = 12,
    TAIL = 4,
    SMALLEST = PRELUDE + TAIL,
    FIRST_CAPACITY = 4096,
    SLICES = 4, /* bytes that the checksum takes at a time */
    TYPE_STRING = 7
};

/* ---- checksums -------------------------------------------------------------------------------------------------- */

static uint32_t tables[SLICES][256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t sum = i;

        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? UINT32_C(0xedb88320) : 0);
        tables[0][i] = sum;
    }
    for (int slice = 1; slice < SLICES; slice++)
        for (int i = 0; i < 256; i++)
            tables[slice][i] = tables[slice - 1][i] >> 8 ^ tables[0][tables[slice - 1][i] & 255];
}

/* CRC-32 as of IEEE 802.3. */
static uint32_t checksum(const unsigned char *bytes, size_t length)
{
    uint32_t sum = UINT32_MAX;

    pthread_once(&tables_once, make_tables);
    for (; length >= SLICES; length -= SLICES, bytes += SLICES) {
        sum ^= (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
        sum = tables[3][sum & 255] ^ tables[2][sum >> 8 & 255] ^ tables[1][sum >> 16 & 255] ^ tables[0][sum >> 24];
    }
    for (; length > 0; length--)
        sum = sum >> 8 ^ tables[0][(sum ^ *bytes++) & 255];
    return ~sum;
}

static uint32_t read_number(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static enum sandlot_status stop(struct event_stream *reader, const char *why)
{
    reader->status = SANDLOT_INTERNAL;
    if (reader->call)
        sandlot_fail(reader->call, SANDLOT_INTERNAL, "a message of the event stream could not be read: %s; try again",
                     why);
    return reader->status;
}

/* ---- headers ---------------------------------------------------------------------------------------------------- */

/* What follows the type of a header: its length, unless it stands before the value itself. -1: no such type. */
static int fixed_length(unsigned char type)
{
    static const signed char lengths[] = {0, 0, 1, 2, 4, 8, -2, -2, 8, 16};

    return type < sizeof(lengths) ? lengths[type] : -1;
}

static void take_header(struct event_stream_message *message, const char *name, size_t name_length, const char *value)
{
    const struct {
        const char *name;
        const char **field;
    } known[] = {{":event-type", &message->type},
                 {":exception-type", &message->type},
                 {":error-code", &message->type},
                 {":error-message", &message->text},
                 {":content-type", &message->content_type}};

    if (name_length == strlen(":message-type") && memcmp(name, ":message-type", name_length) == 0) {
        message->kind = strcmp(value, "exception") == 0 ? EVENT_STREAM_EXCEPTION
                        : strcmp(value, "error") == 0   ? EVENT_STREAM_ERROR
                                                        : EVENT_STREAM_EVENT;
        return;
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strlen(known[i].name) == name_length && memcmp(name, known[i].name, name_length) == 0)
            *known[i].field = value;
}

/* Reads the headers in the LENGTH bytes at AT, whose strings it moves to make room for NULs. False: they are none. */
static bool read_headers(unsigned char *at, size_t length, struct event_stream_message *message)
{
    const unsigned char *end = at + length;

    while (at < end) {
        size_t name_length = *at++;

        if (name_length == 0 || (size_t)(end - at) < name_length + 1)
            return false;
        char *name = (char *)at;
        unsigned char type = at[name_length];
        int fixed = fixed_length(type);

        at += name_length + 1;
        if (fixed == -1 || (fixed == -2 && end - at < 2))
            return false;
        size_t value_length = fixed == -2 ? (size_t)at[0] << 8 | at[1] : (size_t)fixed;
        unsigned char *value = at + (fixed == -2 ? 2 : 0);

        if ((size_t)(end - value) < value_length)
            return false;
        at = value + value_length;
        if (type != TYPE_STRING)
            continue;
        unsigned char *text = value - 1; /* over the length, which has been read */

        memmove(text, value, value_length);
        text[value_length] = '\0';
        take_header(message, name, name_length, (char *)text);
    }
    return true;
}

/* ---- messages --------------------------------------------------------------------------------------------------- */

/* The first bytes of a message have come. */
static void read_prelude(struct event_stream *reader)
{
    size_t total = read_number(reader->bytes);
    size_t headers = read_number(reader->bytes + 4);

    if (checksum(reader->bytes, PRELUDE - 4) != read_number(reader->bytes + PRELUDE - 4))
        stop(reader, "its lengths do not have their checksum");
    else if (total < SMALLEST || headers > total - SMALLEST)
        stop(reader, "its lengths make no sense");
    else if (total > reader->limit)
        stop(reader, "it is longer than it may be");
    else
        reader->wanted = total;
}

static void pass_on(struct event_stream *reader)
{
    size_t headers = read_number(reader->bytes + 4);
    size_t total = reader->wanted;
    struct event_stream_message message = {.type = "", .content_type = "", .text = ""};

    reader->length = 0;
    reader->wanted = 0;
    if (checksum(reader->bytes, total - TAIL) != read_number(reader->bytes + total - TAIL)) {
        stop(reader, "it does not have its checksum");
        return;
    }
    if (!read_headers(reader->bytes + PRELUDE, headers, &message)) {
        stop(reader, "its headers make no sense");
        return;
    }
    message.payload = reader->bytes + PRELUDE + headers;
    message.length = total - SMALLEST - headers;
    reader->status = reader->message(reader->context, &message);
}

/* Grows with what has come, not with what was announced: a stranger's number costs no memory. */
static bool reserve(struct event_stream *reader, size_t wanted)
{
    size_t capacity = reader->capacity ? reader->capacity : FIRST_CAPACITY;

    if (wanted <= reader->capacity)
        return true;
    while (capacity < wanted)
        capacity *= 2;
    if (reader->wanted >= wanted && capacity > reader->wanted)
        capacity = reader->wanted;
    unsigned char *grown = realloc(reader->bytes, capacity);

    if (!grown) {
        stop(reader, "there is not enough memory");
        return false;
    }
    reader->bytes = grown;
    reader->capacity = capacity;
    return true;
}

enum sandlot_status event_stream_add(struct event_stream *reader, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;

    while (reader->status == SANDLOT_OK && !reader->finished && length > 0) {
        size_t missing = (reader->wanted ? reader->wanted : PRELUDE) - reader->length;
        size_t taken = missing < length ? missing : length;

        if (!reserve(reader, reader->length + taken))
            break;
        memcpy(reader->bytes + reader->length, at, taken);
        reader->length += taken;
        at += taken;
        length -= taken;
        if (!reader->wanted && reader->length == PRELUDE)
            read_prelude(reader);
        else if (reader->wanted && reader->length == reader->wanted)
            pass_on(reader);
    }
    return reader->status;
}

enum sandlot_status event_stream_end(struct event_stream *reader)
{
    if (reader->status == SANDLOT_OK && !reader->finished && reader->length > 0)
        stop(reader, "the stream ended inside of it");
    return reader->status;
}

static enum sandlot_status write_to(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    return event_stream_add(sink->context, bytes, length);
}

void event_stream_init(struct event_stream *reader, struct sandlot_call *call, size_t limit,
                       event_stream_function message, void *context)
{
    *reader = (struct event_stream){
        .sink = {.size = sizeof(reader->sink), .context = reader, .write = write_to},
        .call = call,
        .message = message,
        .context = context,
        .limit = limit,
    };
}

void event_stream_clear(struct event_stream *reader)
{
    free(reader->bytes);
    reader->bytes = NULL;
    reader->capacity = reader->length = reader->wanted = 0;
}

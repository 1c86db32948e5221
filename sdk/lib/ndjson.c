#include <sandlot/sdk/ndjson.h>

#include <sandlot/sdk/json.h>

#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static enum sandlot_status stop(struct ndjson *reader, const char *why)
{
    reader->status = SANDLOT_INTERNAL;
    if (reader->call)
        sandlot_fail(reader->call, SANDLOT_INTERNAL,
                     "line %" PRIu64 " of the stream could not be read: it %s; report it to the author of the provider",
                     reader->lines, why);
    return reader->status;
}

static bool is_blank(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!strchr(" \t\r", text[i]) || text[i] == '\0')
            return false;
    return true;
}

static bool is_null(const char *text, size_t length)
{
    while (length > 0 && is_blank(text + length - 1, 1))
        length--;
    while (length > 0 && is_blank(text, 1)) {
        text++;
        length--;
    }
    return length == 4 && memcmp(text, "null", 4) == 0;
}

static void take_line(struct ndjson *reader, const char *line, size_t length)
{
    struct json_error error;

    if (is_blank(line, length))
        return;
    bool null = is_null(line, length);
    struct json_object *value = null ? NULL : json_read_document(line, length, &error);

    if (!value && !null) {
        stop(reader, error.text);
        return;
    }
    reader->status = reader->value(reader->context, value);
    json_object_put(value);
}

static void keep(struct ndjson *reader, const char *bytes, size_t length)
{
    struct sdk_buffer buffer = {reader->line, reader->length, reader->capacity, reader->limit};
    enum sdk_growth growth = sdk_buffer_add(&buffer, bytes, length);

    reader->line = buffer.bytes;
    reader->length = buffer.length;
    reader->capacity = buffer.capacity;
    if (growth == SDK_TOO_LONG)
        stop(reader, "is longer than it may be");
    else if (growth == SDK_NO_MEMORY)
        stop(reader, "does not fit into memory");
}

static void end_line(struct ndjson *reader, const char *bytes, size_t length)
{
    if (reader->length == 0 && length <= reader->limit) {
        take_line(reader, bytes, length);
        return;
    }
    keep(reader, bytes, length);
    if (reader->status == SANDLOT_OK)
        take_line(reader, reader->line, reader->length);
    reader->length = 0;
}

enum sandlot_status ndjson_add(struct ndjson *reader, const void *bytes, size_t length)
{
    const char *at = bytes;
    const char *end = at + length;

    while (at < end && reader->status == SANDLOT_OK && !reader->finished) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));

        reader->lines += reader->length == 0;
        if (!newline) {
            keep(reader, at, (size_t)(end - at));
            break;
        }
        end_line(reader, at, (size_t)(newline - at));
        at = newline + 1;
    }
    return reader->status;
}

enum sandlot_status ndjson_end(struct ndjson *reader)
{
    if (reader->status == SANDLOT_OK && !reader->finished && reader->length > 0)
        take_line(reader, reader->line, reader->length);
    reader->length = 0;
    return reader->status;
}

static enum sandlot_status write_to(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    return ndjson_add(sink->context, bytes, length);
}

void ndjson_init(struct ndjson *reader, struct sandlot_call *call, size_t limit, ndjson_function value, void *context)
{
    *reader = (struct ndjson){
        .sink = {.size = sizeof(reader->sink), .context = reader, .write = write_to},
        .call = call,
        .value = value,
        .context = context,
        .limit = limit,
    };
}

void ndjson_clear(struct ndjson *reader)
{
    free(reader->line);
    reader->line = NULL;
    reader->length = reader->capacity = 0;
}

#include <sandlot/sdk/sse.h>

#include "text.h"

#include <stdlib.h>
#include <string.h>

static enum sandlot_status stop(struct sse *reader, const char *why)
{
    reader->status = SANDLOT_INTERNAL;
    if (reader->call)
        sandlot_fail(reader->call, SANDLOT_INTERNAL,
                     "an event of the stream could not be read: %s; report it to the author of the provider", why);
    return reader->status;
}

static bool append(struct sse *reader, struct sse_text *text, const char *bytes, size_t length)
{
    struct sdk_buffer buffer = {text->bytes, text->length, text->capacity, reader->limit};
    enum sdk_growth growth = sdk_buffer_add(&buffer, bytes, length);

    text->bytes = buffer.bytes;
    text->length = buffer.length;
    text->capacity = buffer.capacity;
    if (growth == SDK_TOO_LONG)
        stop(reader, "it is longer than it may be");
    else if (growth == SDK_NO_MEMORY)
        stop(reader, "there is not enough memory");
    return growth == SDK_GROWN;
}

static bool set(struct sse *reader, struct sse_text *text, const char *bytes, size_t length)
{
    text->length = 0;
    return append(reader, text, bytes, length);
}

/* The last id becomes the stream's, whether or not there is an event. */
static bool keep_id(struct sse *reader)
{
    if (!reader->id.bytes)
        return true;
    if (reader->last_id && strcmp(reader->last_id, reader->id.bytes) == 0)
        return true;
    char *copy = strdup(reader->id.bytes);

    if (!copy) {
        stop(reader, "there is not enough memory");
        return false;
    }
    free(reader->last_id);
    reader->last_id = copy;
    return true;
}

static void dispatch(struct sse *reader)
{
    if (!keep_id(reader))
        return;
    if (reader->has_data) {
        bool typed = reader->type.length > 0;
        const struct sse_event event = {typed ? reader->type.bytes : "message", reader->data.bytes, reader->data.length,
                                        reader->last_id ? reader->last_id : ""};

        reader->status = reader->event(reader->context, &event);
    }
    reader->has_data = false;
    reader->data.length = 0;
    reader->type.length = 0;
}

static void take_retry(struct sse *reader, const char *digits, size_t length)
{
    int64_t milliseconds = 0;

    if (length == 0 || length > 12)
        return;
    for (size_t i = 0; i < length; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return;
        milliseconds = milliseconds * 10 + (digits[i] - '0');
    }
    reader->retry_ms = milliseconds;
}

static void take_field(struct sse *reader, const char *name, size_t name_length, const char *value, size_t length)
{
    if (name_length == 4 && memcmp(name, "data", 4) == 0) {
        if (!reader->has_data || append(reader, &reader->data, "\n", 1))
            append(reader, &reader->data, value, length);
        reader->has_data = true;
    } else if (name_length == 5 && memcmp(name, "event", 5) == 0) {
        set(reader, &reader->type, value, length);
    } else if (name_length == 2 && memcmp(name, "id", 2) == 0) {
        if (!memchr(value, '\0', length))
            set(reader, &reader->id, value, length);
    } else if (name_length == 5 && memcmp(name, "retry", 5) == 0) {
        take_retry(reader, value, length);
    }
}

static void take_line(struct sse *reader)
{
    const char *line = reader->line.bytes ? reader->line.bytes : "";
    size_t length = reader->line.length;

    if (length == 0) {
        dispatch(reader);
        return;
    }
    const char *colon = memchr(line, ':', length);

    reader->line.length = 0;
    if (colon == line)
        return; /* a comment */
    if (!colon) {
        take_field(reader, line, length, "", 0);
        return;
    }
    const char *value = colon + 1;

    if (value < line + length && *value == ' ')
        value++;
    take_field(reader, line, (size_t)(colon - line), value, (size_t)(line + length - value));
}

/* Takes a byte order mark off the beginning of BYTES; a cut one waits for its rest. */
static size_t pass_mark(struct sse *reader, const unsigned char *bytes, size_t length)
{
    static const unsigned char mark[] = {0xef, 0xbb, 0xbf};
    enum { PAST = 4 };
    size_t at = 0;

    while (reader->mark < 3 && at < length && bytes[at] == mark[reader->mark]) {
        reader->mark++;
        at++;
    }
    if (at == length || reader->mark >= 3) {
        reader->mark = reader->mark == 3 ? PAST : reader->mark;
        return at;
    }
    /* It was none after all: what looked like its beginning belongs to the line. */
    append(reader, &reader->line, (const char *)mark, reader->mark);
    reader->mark = PAST;
    return at;
}

enum sandlot_status sse_add(struct sse *reader, const void *bytes, size_t length)
{
    const char *at = bytes;
    const char *end = at + length;

    if (reader->mark < 3 && reader->status == SANDLOT_OK)
        at += pass_mark(reader, bytes, length);
    while (at < end && reader->status == SANDLOT_OK && !reader->finished) {
        if (reader->after_return && *at == '\n')
            at++;
        reader->after_return = false;
        const char *stopped = at;

        while (stopped < end && *stopped != '\n' && *stopped != '\r')
            stopped++;
        if (stopped > at && !append(reader, &reader->line, at, (size_t)(stopped - at)))
            break;
        if (stopped == end)
            break;
        reader->after_return = *stopped == '\r';
        at = stopped + 1;
        take_line(reader);
    }
    return reader->status;
}

static enum sandlot_status write_to(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    return sse_add(sink->context, bytes, length);
}

void sse_init(struct sse *reader, struct sandlot_call *call, size_t limit, sse_function event, void *context)
{
    *reader = (struct sse){
        .sink = {.size = sizeof(reader->sink), .context = reader, .write = write_to},
        .retry_ms = -1,
        .call = call,
        .event = event,
        .context = context,
        .limit = limit,
    };
}

void sse_clear(struct sse *reader)
{
    free(reader->last_id);
    free(reader->line.bytes);
    free(reader->data.bytes);
    free(reader->type.bytes);
    free(reader->id.bytes);
    reader->last_id = reader->line.bytes = reader->data.bytes = reader->type.bytes = reader->id.bytes = NULL;
}

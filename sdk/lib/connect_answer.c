#include "connect_answer.h"

#include "text.h"

#include <sandlot/sdk/cleanup.h>

#include <ctype.h>
#include <string.h>

enum { COMPRESSED = 1, END = 2 };

/* The names of gRPC in lower case; but one is spelt otherwise. */
static bool is_name_of(const char *name, int code)
{
    const char *other = code == GRPC_CANCELLED ? "CANCELED" : grpc_code_name(code);

    while (*name && tolower((unsigned char)*other) == *name) {
        name++;
        other++;
    }
    return *name == '\0' && *other == '\0';
}

int connect_code_of(const char *name)
{
    for (int code = GRPC_CANCELLED; code <= GRPC_UNAUTHENTICATED; code++)
        if (is_name_of(name, code))
            return code;
    return CONNECT_NO_CODE;
}

int connect_error_read(struct json_object *error, char text[CONNECT_LONGEST_TEXT])
{
    const char *name = NULL;
    const char *message = NULL;

    text[0] = '\0';
    if (!json_object_is_type(error, json_type_object))
        return CONNECT_NO_CODE;
    json_find_string(error, "code", &name, NULL);
    json_find_string(error, "message", &message, NULL);
    if (message)
        sdk_one_line(text, CONNECT_LONGEST_TEXT, message, strlen(message));
    return name ? connect_code_of(name) : CONNECT_NO_CODE;
}

/* ---- streams ---------------------------------------------------------------------------------------------------- */

/* Nothing that follows counts. */
static enum sandlot_status senseless(struct connect_reader *reader, const char *why)
{
    reader->code = GRPC_INTERNAL;
    snprintf(reader->text, sizeof(reader->text), "%s", why);
    return SANDLOT_INTERNAL;
}

static enum sandlot_status take_end(struct connect_reader *reader, struct json_object *end)
{
    struct json_object *error = json_object_object_get(end, "error");

    reader->over = true;
    reader->code = error ? connect_error_read(error, reader->text) : GRPC_OK;
    if (reader->code == CONNECT_NO_CODE)
        reader->code = GRPC_UNKNOWN; /* a name that is none, or no error as it should be: one all the same */
    return SANDLOT_OK;
}

static enum sandlot_status on_frame(void *context, unsigned char flags, const void *payload, size_t length)
{
    struct connect_reader *reader = context;

    if (reader->over)
        return senseless(reader, "its answer went on after its end");
    if (flags & COMPRESSED)
        return senseless(reader, "it sent a message that is compressed, which was not agreed on");
    AUTO_DOCUMENT struct json_object *message = json_read_document(payload, length, NULL);

    if (!json_object_is_type(message, json_type_object))
        return senseless(reader, "it sent a message that is no JSON object");
    if (flags & END)
        return take_end(reader, message);
    reader->messages++;
    reader->stopped = reader->on_message(reader->context, message);
    return reader->stopped;
}

void connect_reader_init(struct connect_reader *reader, size_t limit, connect_message_function on_message,
                         void *context)
{
    *reader = (struct connect_reader){.on_message = on_message, .context = context, .code = CONNECT_NO_CODE};
    frames_init(&reader->frames, NULL, &frame_format_connect, limit, on_frame, reader);
}

void connect_reader_end(struct connect_reader *reader)
{
    bool whole = frames_end(&reader->frames) == SANDLOT_OK;

    if (reader->over && whole)
        return;
    if (reader->code == GRPC_INTERNAL && *reader->text)
        return;
    reader->code = whole ? GRPC_UNAVAILABLE : GRPC_INTERNAL;
    snprintf(reader->text, sizeof(reader->text), "its answer %s",
             whole ? "ended without a status" : "ended inside a message, or makes no sense");
}

void connect_reader_clear(struct connect_reader *reader)
{
    frames_clear(&reader->frames);
}

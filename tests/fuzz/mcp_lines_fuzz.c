/*
 * What an MCP client sends: any bytes as a stream, cut anywhere. Lines keep their bound; what is taken from a message
 * lies inside of it; and what the scanner takes for JSON is JSON to another reader too.
 */
#include "base/text.h"
#include "server/lines.h"
#include "server/message.h"

#include <json-c/json.h>
#include <stdint.h>
#include <stdlib.h>

enum { LONGEST = 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inside(struct piece piece, const char *text, size_t length)
{
    if (piece.text && (piece.text < text || piece.length == 0 || piece.text + piece.length > text + length))
        abort();
}

static void check_json(const char *text, size_t length)
{
    struct json_tokener *tokener = json_tokener_new_ex(SCAN_DEEPEST + 2);

    if (!tokener)
        return;
    struct json_object *value = json_tokener_parse_ex(tokener, text, (int)length);
    enum json_tokener_error error = json_tokener_get_error(tokener);

    /* A number at the end of the text might go on, so json-c still waits. */
    if (error != json_tokener_success && error != json_tokener_continue)
        abort();
    json_object_put(value);
    json_tokener_free(tokener);
}

static void check_string(struct piece piece)
{
    size_t length;
    char *text = piece_string(piece, &length);

    if (text && !text_utf8_valid(text, length))
        abort();
    free(text);
}

static void on_line(void *context, const char *text, size_t length)
{
    struct message message;
    struct piece element;
    size_t position = 0;

    (void)context;
    if (length == 0 || length > LONGEST)
        abort();
    message_parse(text, length, &message);
    if ((message.type == MESSAGE_INVALID) != (message.error.code != RPC_OK))
        abort();
    if (message.error.code != RPC_PARSE_ERROR)
        check_json(text, length);
    check_inside(message.id, text, length);
    check_inside(message.method, text, length);
    check_inside(message.params, text, length);
    check_inside(message.meta, text, length);
    check_string(message.id);
    check_string(message.method);
    if (message.type == MESSAGE_REQUEST && !message_same_id(message.id, message.id))
        abort();
    while (message.type == MESSAGE_BATCH && piece_next(message.whole, &position, &element)) {
        struct message inner;

        check_inside(element, text, length);
        message_read(element, &inner);
    }
}

static void on_long(void *context)
{
    (void)context;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lines lines = {.longest = LONGEST, .line = on_line, .too_long = on_long};
    size_t piece = size ? data[0] + 1U : 1;

    for (size_t at = 1; at < size; at += piece)
        lines_add(&lines, (const char *)data + at, size - at < piece ? size - at : piece);
    lines_end(&lines);
    lines_discard(&lines);
    return 0;
}

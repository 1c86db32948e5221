#include "server/message.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <string.h>

/* Half of a surrogate pair, spelt as an escape, would be echoed and break the client's reader. */
static bool has_lone_surrogate(struct piece string)
{
    size_t length;
    AUTO_FREE char *decoded = memchr(string.text, '\\', string.length) ? piece_string(string, &length) : NULL;

    return decoded && memmem(decoded, length, "\xef\xbf\xbd", 3) &&
           !memmem(string.text, string.length, "\xef\xbf\xbd", 3);
}

bool message_valid_id(struct piece piece)
{
    return piece_is_integer(piece) || (piece_kind(piece) == PIECE_STRING && !has_lone_surrogate(piece));
}

bool message_same_id(struct piece a, struct piece b)
{
    if (!a.text || !b.text || piece_kind(a) != piece_kind(b))
        return false;
    if (a.length == b.length && memcmp(a.text, b.text, a.length) == 0)
        return true;
    if (piece_kind(a) != PIECE_STRING)
        return false;
    size_t a_length;
    size_t b_length;
    AUTO_FREE char *a_text = piece_string(a, &a_length);
    AUTO_FREE char *b_text = piece_string(b, &b_length);

    return a_text && b_text && a_length == b_length && memcmp(a_text, b_text, a_length) == 0;
}

static void refuse(struct message *message, enum rpc_code code, const char *text)
{
    message->type = MESSAGE_INVALID;
    message->error = (struct rpc_error){code, text};
}

/* These exist in the revisions only whose requests stand alone. */
static bool is_modern_method(struct piece method)
{
    return piece_equals(method, "server/discover") || piece_equals(method, "subscriptions/listen");
}

static void read_params(struct message *message, struct piece params)
{
    bool request = message->type == MESSAGE_REQUEST;

    if (params.text && piece_kind(params) != PIECE_OBJECT) {
        if (request)
            refuse(message, RPC_INVALID_PARAMS, "params must be an object");
        return;
    }
    struct piece meta = piece_member(params, "_meta");

    message->params = params;
    if (meta.text && piece_kind(meta) != PIECE_OBJECT) {
        if (request)
            refuse(message, RPC_INVALID_PARAMS, "params._meta must be an object");
        return;
    }
    message->meta = meta;
    message->modern = piece_member(meta, META_PREFIX "protocolVersion").text || is_modern_method(message->method);
}

void message_read(struct piece whole, struct message *message)
{
    *message = (struct message){.whole = whole};
    if (piece_kind(whole) == PIECE_ARRAY) {
        message->type = MESSAGE_BATCH;
        return;
    }
    if (piece_kind(whole) != PIECE_OBJECT) {
        refuse(message, RPC_INVALID_REQUEST, "a message must be a JSON object");
        return;
    }
    struct piece id = piece_member(whole, "id");
    struct piece method = piece_member(whole, "method");
    bool answer = piece_member(whole, "result").text || piece_member(whole, "error").text;

    if (message_valid_id(id))
        message->id = id;
    if (!method.text && answer)
        message->type = MESSAGE_RESPONSE;
    else if (!piece_equals(piece_member(whole, "jsonrpc"), "2.0"))
        refuse(message, RPC_INVALID_REQUEST, "jsonrpc must be \"2.0\"");
    else if (piece_kind(method) != PIECE_STRING)
        refuse(message, RPC_INVALID_REQUEST, "method must be a string");
    else if (id.text && !message->id.text)
        refuse(message, RPC_INVALID_REQUEST, "id must be a string or an integer");
    else
        message->type = id.text ? MESSAGE_REQUEST : MESSAGE_NOTIFICATION;
    message->method = method;
    if (message->type == MESSAGE_REQUEST || message->type == MESSAGE_NOTIFICATION)
        read_params(message, piece_member(whole, "params"));
}

void message_parse(const char *text, size_t length, struct message *message)
{
    struct piece whole;

    if (text_utf8_valid(text, length) && scan_document(text, length, &whole)) {
        message_read(whole, message);
        return;
    }
    *message = (struct message){0};
    refuse(message, RPC_PARSE_ERROR, "the message is not JSON in UTF-8, or too deeply nested");
}

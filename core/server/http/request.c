#include "server/http/request.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <string.h>

#define PATH "/mcp"
#define MODERN_VERSION "2026-07-28"

enum {
    OK = 200,
    NO_CONTENT = 204,
    BAD_REQUEST = 400,
    UNAUTHORIZED = 401,
    FORBIDDEN = 403,
    NOT_FOUND = 404,
    METHOD_NOT_ALLOWED = 405,
    NOT_ACCEPTABLE = 406,
    UNSUPPORTED_MEDIA_TYPE = 415
};

/* ---- before the body --------------------------------------------------------------------------------------------- */

static void refuse(struct exchange *exchange, unsigned int status, const char *why)
{
    exchange->refusal = status;
    exchange->why = why;
}

/* Is it for us, and may it be? */
static bool check_sender(struct exchange *exchange, const struct http_access *access, const char *path)
{
    const struct http_fields *fields = &exchange->fields;

    if (fields->repeated)
        refuse(exchange, BAD_REQUEST, "a header field that must be single came twice");
    else if (!fields->host || !http_host_allowed(access, fields->host))
        refuse(exchange, FORBIDDEN, "this server does not know itself by the name in Host; see --allow-origin");
    else if (fields->origin && !http_origin_allowed(access, fields->host, fields->origin))
        refuse(exchange, FORBIDDEN, "pages of this Origin may not use this server; see --allow-origin");
    else if (strcmp(path, PATH) != 0)
        refuse(exchange, NOT_FOUND, "there is only " PATH " here");
    else
        return true;
    return false;
}

void request_check(struct exchange *exchange, const struct http_access *access, const char *method, const char *path)
{
    const struct http_fields *fields = &exchange->fields;

    if (!check_sender(exchange, access, path))
        return;
    if (strcmp(method, "OPTIONS") == 0 && fields->origin)
        refuse(exchange, NO_CONTENT, NULL); /* a browser asks in advance, and has no token then */
    else if (access->token && !http_token_matches(access->token, fields->authorization))
        refuse(exchange, UNAUTHORIZED,
               fields->authorization ? "the bearer token is wrong" : "send the server's token: Authorization: Bearer");
    else if (strcmp(method, "POST") != 0)
        refuse(exchange, METHOD_NOT_ALLOWED, "every message comes by POST; there are no sessions and no other streams");
    else if (!http_is_json(fields->content_type))
        refuse(exchange, UNSUPPORTED_MEDIA_TYPE, "Content-Type must be application/json");
    else if (!http_accepts_both(fields->accept))
        refuse(exchange, NOT_ACCEPTABLE, "Accept must list application/json and text/event-stream");
}

/* ---- the message against the header fields ----------------------------------------------------------------------- */

/* The field FIELD and the string BODY must say the same. */
static bool agrees(const char *field, struct piece body)
{
    AUTO_FREE char *given = field ? http_decode(field) : NULL;
    AUTO_FREE char *wanted = piece_string(body, NULL);

    return given && wanted && strcmp(given, wanted) == 0;
}

/* What is wrong with the fields of a modern request; NULL: nothing. */
static const char *modern_complaint(struct exchange *exchange, const struct message *message)
{
    struct piece version = piece_member(message->meta, META_PREFIX "protocolVersion");
    struct piece name = piece_member(message->params, "name");

    exchange->malformed = piece_kind(version) != PIECE_STRING ||
                          piece_kind(piece_member(message->meta, META_PREFIX "clientCapabilities")) != PIECE_OBJECT;
    if (exchange->malformed)
        return NULL; /* the server says what it lacks */
    if (!agrees(exchange->fields.version, version))
        return "the header MCP-Protocol-Version must be there and say the same as params._meta";
    if (!piece_equals(version, MODERN_VERSION))
        return NULL; /* the server says which ones there are */
    if (!agrees(exchange->fields.method, message->method))
        return "the header Mcp-Method must be there and say the same as method";
    if (piece_equals(message->method, "tools/call") && piece_kind(name) == PIECE_STRING &&
        !agrees(exchange->fields.name, name))
        return "the header Mcp-Name must be there and say the same as params.name";
    return NULL;
}

/* The same for a legacy message. */
static const char *legacy_complaint(const struct exchange *exchange, const struct message *message, enum rpc_code *code)
{
    static const char *const versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
    AUTO_FREE char *version = exchange->fields.version ? http_decode(exchange->fields.version) : NULL;

    if (!exchange->fields.version)
        return NULL;
    for (size_t i = 0; version && i < sizeof(versions) / sizeof(versions[0]); i++)
        if (strcmp(version, versions[i]) == 0)
            return NULL;
    *code = RPC_INVALID_REQUEST;
    if (!version || strcmp(version, MODERN_VERSION) != 0)
        return "the version in the header MCP-Protocol-Version is not served";
    *code = RPC_INVALID_PARAMS;
    return message->type == MESSAGE_REQUEST ? "a request of version " MODERN_VERSION " must have params._meta" : NULL;
}

/* Answers with an error as the server would. WHY needs no escapes. */
static void answer(struct exchange *exchange, const struct message *message, enum rpc_code code, const char *why)
{
    AUTO_FREE char *id = message->id.text ? piece_copy(message->id) : NULL;
    AUTO_FREE char *text = text_format("{\"jsonrpc\":\"2.0\",%s%s%s\"error\":{\"code\":%d,\"message\":\"%s\"}}",
                                       id ? "\"id\":" : "", id ? id : "", id ? "," : "", (int)code, why);

    if (text)
        exchange->channel.send(&exchange->channel, OUTGOING_ANSWER, text, strlen(text), code);
}

void request_receive(struct exchange *exchange, const struct http_host *host, struct server *server,
                     bool *wants_progress, bool *expects)
{
    struct message message;
    enum rpc_code code = RPC_HEADER_MISMATCH;
    const char *complaint = NULL;

    message_parse(exchange->body ? exchange->body : "", exchange->body_length, &message);
    exchange->modern = message.modern;
    *wants_progress = piece_member(message.meta, "progressToken").text != NULL;
    *expects = message.type != MESSAGE_NOTIFICATION && message.type != MESSAGE_RESPONSE;
    if (!message.modern && message.type != MESSAGE_INVALID)
        complaint = legacy_complaint(exchange, &message, &code);
    else if (message.modern && message.type == MESSAGE_REQUEST)
        complaint = modern_complaint(exchange, &message);
    if (complaint) {
        *expects = true;
        exchange->malformed = true;
        answer(exchange, &message, code, complaint);
    } else {
        host->receive(server, &exchange->channel, exchange->body ? exchange->body : "", exchange->body_length);
    }
    free(exchange->body);
    exchange->body = NULL;
    exchange->received = true;
    channel_release(&exchange->channel);
}

unsigned int request_status(const struct exchange *exchange)
{
    switch (exchange->code) {
    case RPC_PARSE_ERROR:
    case RPC_INVALID_REQUEST:
    case RPC_UNSUPPORTED_VERSION:
    case RPC_HEADER_MISMATCH:
        return BAD_REQUEST;
    case RPC_UNKNOWN_METHOD:
        return exchange->modern ? NOT_FOUND : OK;
    case RPC_INVALID_PARAMS:
        return exchange->malformed ? BAD_REQUEST : OK;
    default:
        return OK;
    }
}

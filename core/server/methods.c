#include "server/methods.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "server/answers.h"

#include <stdlib.h>
#include <string.h>

#define MODERN_VERSION "2026-07-28"
#define MODERN_VERSIONS "[\"" MODERN_VERSION "\"]"
#define BATCH_VERSION "2025-03-26"

/* Lists never change while a process lives. */
#define CACHE "\"ttlMs\":3600000,\"cacheScope\":\"public\""

/* The newest first: it is the answer to versions that are not served. */
static const char *const legacy_versions[] = {"2025-11-25", "2025-06-18", BATCH_VERSION, "2024-11-05"};

enum {
    LEGACY_VERSION_COUNT = sizeof(legacy_versions) / sizeof(legacy_versions[0]),
    LONGEST_NAME_SHOWN = 100,
    MOST_IN_BATCH = 1000
};

/* One request and what its answer needs. */
struct request {
    const struct methods *methods;
    struct channel *channel;
    const struct message *message;
    const char *id;
    const char *info; /* for modern answers; NULL: legacy */
};

/* Takes TEXT over. */
static void send_text(const struct request *request, char *text, enum rpc_code code)
{
    if (text)
        request->channel->send(request->channel, OUTGOING_ANSWER, text, strlen(text), code);
    free(text);
}

static void send_error(const struct request *request, enum rpc_code code, const char *text)
{
    send_text(request, answer_error(request->id, code, text, NULL), code);
}

static void send_result(const struct request *request, const char *members)
{
    send_text(request, answer_result(request->id, members, request->info, NULL), RPC_OK);
}

/* "WHAT 'NAME'", the name cut if it is very long. To be freed. */
static char *with_name(const char *what, struct piece name)
{
    AUTO_FREE char *text = piece_string(name, NULL);

    return text ? text_format("%s '%.*s'", what, LONGEST_NAME_SHOWN, text) : NULL;
}

static void refuse_method(const struct request *request)
{
    AUTO_FREE char *text = with_name("there is no method", request->message->method);

    send_error(request, RPC_UNKNOWN_METHOD, text ? text : "there is no such method");
}

/* ---- methods ----------------------------------------------------------------------------------------------------- */

static void initialize(const struct request *request)
{
    struct piece wanted = piece_member(request->message->params, "protocolVersion");
    const char *version = legacy_versions[0];
    struct peer *peer = request->channel->peer;

    if (piece_kind(wanted) != PIECE_STRING) {
        send_error(request, RPC_INVALID_PARAMS, "protocolVersion must be a string, such as \"2025-11-25\"");
        return;
    }
    for (size_t i = 0; i < LEGACY_VERSION_COUNT; i++)
        if (piece_equals(wanted, legacy_versions[i]))
            version = legacy_versions[i];
    if (!peer->many) {
        peer->initialized = true;
        peer->batches = strcmp(version, BATCH_VERSION) == 0;
    }
    AUTO_FREE char *members =
        text_format("\"protocolVersion\":\"%s\",\"capabilities\":{\"tools\":{}},\"serverInfo\":%s,\"instructions\":%s",
                    version, request->methods->info, request->methods->instructions);

    if (members)
        send_result(request, members);
}

static void ping(const struct request *request)
{
    send_result(request, "");
}

static void discover(const struct request *request)
{
    AUTO_FREE char *members =
        text_format("\"supportedVersions\":" MODERN_VERSIONS ",\"capabilities\":{\"tools\":{}},\"serverInfo\":%s,"
                    "\"instructions\":%s," CACHE,
                    request->methods->info, request->methods->instructions);

    if (members)
        send_result(request, members);
}

static void list_tools(const struct request *request)
{
    if (!piece_absent(piece_member(request->message->params, "cursor"))) {
        send_error(request, RPC_INVALID_PARAMS, "there is no such cursor: all tools are on the first page");
        return;
    }
    AUTO_FREE char *members = text_format("\"tools\":%s%s", request->methods->tools, request->info ? "," CACHE : "");

    if (members)
        send_result(request, members);
}

static const char *find_tool(const struct methods *methods, struct piece name)
{
    for (char **tool = methods->tool_names; *tool; tool++)
        if (piece_equals(name, *tool))
            return *tool;
    return NULL;
}

static void refuse_tool(const struct request *request, struct piece name)
{
    AUTO_FREE char *text = with_name("there is no tool", name);

    send_error(request, RPC_INVALID_PARAMS, text ? text : "there is no such tool");
}

static void call_tool(const struct request *request)
{
    struct piece params = request->message->params;
    struct piece name = piece_member(params, "name");
    struct piece arguments = piece_member(params, "arguments");
    struct piece token = piece_member(request->message->meta, "progressToken");
    const char *tool = find_tool(request->methods, name);

    if (piece_kind(name) != PIECE_STRING) {
        send_error(request, RPC_INVALID_PARAMS, "name must be a string: that of a tool");
        return;
    }
    if (!tool) {
        refuse_tool(request, name);
        return;
    }
    if (!piece_absent(arguments) && piece_kind(arguments) != PIECE_OBJECT) {
        send_error(request, RPC_INVALID_PARAMS, "arguments must be an object");
        return;
    }
    const struct piece nothing = {0};
    struct calls_request call = {.channel = request->channel,
                                 .id = request->message->id,
                                 .token = piece_absent(token) ? nothing : token,
                                 .tool = tool,
                                 .arguments = piece_absent(arguments) ? nothing : arguments,
                                 .modern = request->info != NULL};

    if (calls_submit(request->methods->calls, &call))
        return;
    AUTO_FREE char *content = answer_content("Too many calls are under way, or the server is ending. Wait for some of "
                                             "them, then try again.");

    if (content)
        send_text(request, answer_tool(request->id, content, NULL, true, request->info), RPC_OK);
}

/* Nothing that is offered ever changes; so the subscription is confirmed, and says nothing until the end. */
static void listen(const struct request *request)
{
    AUTO_FREE char *notice = notice_subscribed(request->id);
    struct channel *channel = request->channel;

    if (!notice || !calls_subscribe(request->methods->calls, channel, request->message->id)) {
        send_error(request, RPC_INTERNAL_ERROR, "too many subscriptions");
        return;
    }
    channel->send(channel, OUTGOING_NOTICE, notice, strlen(notice), RPC_OK);
}

static const struct method {
    const char *name;
    void (*handle)(const struct request *request);
    bool legacy;
    bool modern;
} methods_served[] = {
    {"initialize", initialize, true, false},    {"ping", ping, true, false},
    {"tools/list", list_tools, true, true},     {"tools/call", call_tool, true, true},
    {"server/discover", discover, false, true}, {"subscriptions/listen", listen, false, true},
};

static const struct method *find_method(struct piece name, bool modern)
{
    for (size_t i = 0; i < sizeof(methods_served) / sizeof(methods_served[0]); i++)
        if ((modern ? methods_served[i].modern : methods_served[i].legacy) &&
            piece_equals(name, methods_served[i].name))
            return &methods_served[i];
    return NULL;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static bool is_log_level(struct piece level)
{
    static const char *const levels[] = {"debug", "info",     "notice", "warning",
                                         "error", "critical", "alert",  "emergency"};

    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        if (piece_equals(level, levels[i]))
            return true;
    return false;
}

/* What a request of the modern era must tell of itself. True: it does; else it has been answered. */
static bool check_modern(const struct request *request)
{
    struct piece meta = request->message->meta;
    struct piece version = piece_member(meta, META_PREFIX "protocolVersion");

    if (piece_kind(version) != PIECE_STRING) {
        send_error(request, RPC_INVALID_PARAMS,
                   "params._meta must have \"" META_PREFIX "protocolVersion\", a string such as \"" MODERN_VERSION
                   "\"");
        return false;
    }
    if (piece_kind(piece_member(meta, META_PREFIX "clientCapabilities")) != PIECE_OBJECT) {
        send_error(request, RPC_INVALID_PARAMS,
                   "params._meta must have \"" META_PREFIX "clientCapabilities\", an object, perhaps {}");
        return false;
    }
    if (piece_equals(version, MODERN_VERSION))
        return true;
    AUTO_FREE char *data = version.length < 4096 ? text_format("{\"supported\":" MODERN_VERSIONS ",\"requested\":%.*s}",
                                                               (int)version.length, version.text)
                                                 : strdup("{\"supported\":" MODERN_VERSIONS "}");

    send_text(
        request,
        answer_error(request->id, RPC_UNSUPPORTED_VERSION, "this protocol version is not served in this way", data),
        RPC_UNSUPPORTED_VERSION);
    return false;
}

static bool check_meta(const struct request *request)
{
    struct piece token = piece_member(request->message->meta, "progressToken");
    struct piece level = piece_member(request->message->meta, META_PREFIX "logLevel");

    if (!piece_absent(token) && !message_valid_id(token))
        send_error(request, RPC_INVALID_PARAMS, "params._meta.progressToken must be a string or an integer");
    else if (request->message->modern && level.text && !is_log_level(level))
        send_error(request, RPC_INVALID_PARAMS,
                   "params._meta[\"" META_PREFIX "logLevel\"] must be a level such as \"info\"");
    else
        return true;
    return false;
}

static void handle_request(const struct request *request)
{
    const struct message *message = request->message;
    const struct method *method = find_method(message->method, message->modern);
    bool first = method && (method->handle == initialize || method->handle == ping);

    if (calls_has(request->methods->calls, request->channel->peer, message->id) && !request->channel->peer->many) {
        send_error(request, RPC_INVALID_REQUEST, "a request with this id is still running");
        return;
    }
    if (message->modern && !check_modern(request))
        return;
    if (!message->modern && !first && !request->channel->peer->initialized)
        send_error(request, RPC_INVALID_PARAMS,
                   "nothing is known of the client yet: either send initialize first, or put \"" META_PREFIX
                   "protocolVersion\" and \"" META_PREFIX "clientCapabilities\" into params._meta of every request");
    else if (!method)
        refuse_method(request);
    else if (check_meta(request))
        method->handle(request);
}

static void handle_notification(const struct methods *methods, const struct channel *channel,
                                const struct message *message)
{
    struct piece id = piece_member(message->params, "requestId");

    if (piece_equals(message->method, "notifications/cancelled") && message_valid_id(id))
        calls_cancel(methods->calls, channel->peer, id);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* One element of a batch, or a message on its own. */
static void handle_one(const struct methods *methods, struct channel *channel, const struct message *message)
{
    AUTO_FREE char *id = message->id.text ? piece_copy(message->id) : NULL;
    struct request request = {methods, channel, message, id, message->modern ? methods->info : NULL};

    if (message->type == MESSAGE_REQUEST && id)
        handle_request(&request);
    else if (message->type == MESSAGE_NOTIFICATION)
        handle_notification(methods, channel, message);
    else if (message->type == MESSAGE_INVALID)
        send_error(&request, message->error.code, message->error.text);
}

static void handle_elements(const struct methods *methods, struct channel *batch, struct piece whole)
{
    struct piece element;
    size_t position = 0;

    while (piece_next(whole, &position, &element)) {
        struct message message;

        message_read(element, &message);
        if (message.type == MESSAGE_BATCH)
            message = (struct message){.error = {RPC_INVALID_REQUEST, "a batch must not hold another one"}};
        else if (piece_equals(message.method, "initialize"))
            message = (struct message){.id = message.id,
                                       .error = {RPC_INVALID_REQUEST, "initialize must not be part of a batch"}};
        handle_one(methods, batch, &message);
    }
}

/* The answers wait for each other, so the memory for them is bounded by their number. */
static const char *batch_complaint(const struct channel *channel, struct piece whole)
{
    struct piece element;
    size_t position = 0;
    size_t count = 0;

    while (count <= MOST_IN_BATCH && piece_next(whole, &position, &element))
        count++;
    if (!channel->peer->batches)
        return "arrays of messages are not part of this protocol version";
    if (count == 0)
        return "the batch is empty";
    return count <= MOST_IN_BATCH ? NULL : "a batch must hold at most 1000 messages; send them in several";
}

static void handle_batch(const struct methods *methods, struct channel *channel, struct piece whole)
{
    const struct request nobody = {.methods = methods, .channel = channel};
    const char *complaint = batch_complaint(channel, whole);
    struct channel *batch = complaint ? NULL : batch_channel_new(channel);

    if (batch) {
        handle_elements(methods, batch, whole);
        channel_release(batch);
    } else {
        send_error(&nobody, complaint ? RPC_INVALID_REQUEST : RPC_INTERNAL_ERROR,
                   complaint ? complaint : "out of memory");
    }
}

void methods_handle(const struct methods *methods, struct channel *channel, const struct message *message)
{
    if (message->type == MESSAGE_BATCH)
        handle_batch(methods, channel, message->whole);
    else
        handle_one(methods, channel, message);
}

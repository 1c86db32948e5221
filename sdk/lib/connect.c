/* A call of the Connect protocol. */
#include <sandlot/sdk/connect.h>

#include "connect_answer.h"
#include "grpc_answer.h"
#include "http_client.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_HEADERS = 16, OWN_HEADERS = 3, HEAD = 5 };

static const int64_t longest_limit_ms = 9999999999; /* the protocol has ten digits */
static const char streamed[] = "application/connect+json";

/* A call under way. */
struct exchange {
    struct sandlot_call *call;
    struct http_client *client;
    const struct connect_request *request;
    struct connect_answer *answer;
    struct attempt inner; /* keeps what http.h says of an answer, which Connect may say better */
    struct connect_reader reader;
    struct http_response response;
};

static enum sandlot_status no_memory(struct sandlot_call *call, const struct http_client *client)
{
    return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for a call of %s; free some",
                        client->service);
}

/* What the service says, or what is to be said in its place: without secrets. */
static void note(struct exchange *exchange, int code, const char *text)
{
    char clean[CONNECT_LONGEST_TEXT];

    snprintf(clean, sizeof(clean), "%s", text);
    sdk_redact(&exchange->client->secrets, clean);
    sdk_one_line(exchange->answer->text, sizeof(exchange->answer->text), clean, strlen(clean));
    exchange->answer->code = code;
}

enum sandlot_status connect_answer_fail(struct sandlot_call *call, const struct connect_request *request,
                                        const struct connect_answer *answer)
{
    const char *name = strrchr(request->target, '/');
    enum sandlot_status status = grpc_status_of(answer->code);
    bool said = *answer->text != '\0';

    return sandlot_fail(call, status, "%s was answered with %s (%d)%s%s%s; %s", name ? name + 1 : request->target,
                        grpc_code_name(answer->code), answer->code, said ? ": \"" : "", answer->text, said ? "\"" : "",
                        grpc_hint_after(status));
}

/* ---- judging ---------------------------------------------------------------------------------------------------- */

/* The code counts if it is accepted. OTHERWISE: what the call fails with if it was http.h that has told why. */
static enum sandlot_status judge_code(struct exchange *exchange, enum sandlot_status otherwise)
{
    int code = exchange->answer->code;

    if (code == GRPC_OK || (exchange->request->accepted & GRPC_BIT(code)))
        return SANDLOT_OK;
    if (otherwise != SANDLOT_OK)
        return attempt_fail(&exchange->inner, otherwise);
    return connect_answer_fail(exchange->call, exchange->request, exchange->answer);
}

/* An answer with an error status. That of a proxy is no Connect, and then HTTP's words count. */
static enum sandlot_status judge_refusal(struct exchange *exchange, enum sandlot_status sent)
{
    const struct http_response *response = &exchange->response;
    AUTO_DOCUMENT struct json_object *error = json_read_document(response->body, response->length, NULL);
    char text[CONNECT_LONGEST_TEXT];
    int code = connect_error_read(error, text);
    bool known = code != CONNECT_NO_CODE;

    if (!known)
        http_error_text(response->body, response->length, text, sizeof(text));
    note(exchange, known ? code : grpc_code_of_http(response->status), text);
    return judge_code(exchange, known ? grpc_status_of(code) : sent);
}

static enum sandlot_status judge_message(struct exchange *exchange)
{
    const struct http_response *response = &exchange->response;

    exchange->answer->message = json_read_document(response->body, response->length, NULL);
    if (json_object_is_type(exchange->answer->message, json_type_object))
        return SANDLOT_OK;
    json_release(&exchange->answer->message);
    exchange->answer->message = NULL;
    note(exchange, GRPC_INTERNAL, "its answer is no JSON object");
    return judge_code(exchange, SANDLOT_OK);
}

static bool is_stream(const struct http_response *response)
{
    const char *type = http_header(response, "Content-Type");
    size_t length = strlen(streamed);

    return type && strncasecmp(type, streamed, length) == 0 && (type[length] == '\0' || strchr("; \t", type[length]));
}

/* Broken lines do not matter once the end has come, and what the reader refused was no answer. */
static enum sandlot_status judge_stream(struct exchange *exchange)
{
    connect_reader_end(&exchange->reader);
    if (exchange->response.status == 0 || is_stream(&exchange->response))
        note(exchange, exchange->reader.code, exchange->reader.text);
    else
        note(exchange, GRPC_UNKNOWN, "its answer was no Connect");
    return judge_code(exchange, SANDLOT_OK);
}

static enum sandlot_status judge(struct exchange *exchange, enum sandlot_status sent)
{
    const struct connect_request *request = exchange->request;
    const struct connect_reader *reader = &exchange->reader;
    int status = exchange->response.status;

    exchange->answer->status = status;
    exchange->answer->messages = reader->messages;
    if (request->enough && *request->enough)
        return SANDLOT_OK;
    if (reader->stopped != SANDLOT_OK)
        return sandlot_fail(exchange->call, sent, "%s",
                            *exchange->inner.reason ? exchange->inner.reason : "the call was ended by its receiver");
    if (reader->over || reader->frames.status != SANDLOT_OK)
        return judge_stream(exchange);
    if (status != 0 && (status < 200 || status > 299))
        return judge_refusal(exchange, sent);
    if (sent != SANDLOT_OK) {
        note(exchange, sent == SANDLOT_TIMEOUT ? GRPC_DEADLINE_EXCEEDED : GRPC_UNAVAILABLE, exchange->inner.reason);
        return attempt_fail(&exchange->inner, sent);
    }
    return request->on_message ? judge_stream(exchange) : judge_message(exchange);
}

/* ---- sending ---------------------------------------------------------------------------------------------------- */

/* The body: the message, for a stream in its frame. To be freed. */
static char *make_body(const struct connect_request *request, size_t *length)
{
    const char *message = request->message ? request->message : "{}";
    size_t size = request->message ? request->length : 2;
    size_t head = request->on_message ? HEAD : 0;
    char *body = malloc(head + size);
    unsigned char frame[HEAD];

    if (!body || (head > 0 && frame_head(&frame_format_connect, 0, size, frame) != HEAD)) {
        free(body);
        return NULL;
    }
    memcpy(body, frame, head);
    memcpy(body + head, message, size);
    *length = head + size;
    return body;
}

static bool collect_headers(const struct connect_request *request, char limit[48],
                            const char *headers[MOST_HEADERS + OWN_HEADERS])
{
    size_t used = 0;

    headers[used++] = "Connect-Protocol-Version: 1";
    if (request->limit_ms > 0) {
        snprintf(limit, 48, "Connect-Timeout-Ms: %" PRId64,
                 request->limit_ms < longest_limit_ms ? request->limit_ms : longest_limit_ms);
        headers[used++] = limit;
    }
    for (const char *const *line = request->headers; line && *line; line++) {
        if (used == MOST_HEADERS + OWN_HEADERS - 1)
            return false;
        headers[used++] = *line;
    }
    headers[used] = NULL;
    return true;
}

static enum sandlot_status exchange_run(struct exchange *exchange)
{
    const struct connect_request *request = exchange->request;
    const char *headers[MOST_HEADERS + OWN_HEADERS];
    char limit[48];
    size_t length = 0;
    AUTO_FREE char *body = make_body(request, &length);

    if (!body)
        return no_memory(exchange->call, exchange->client);
    if (!collect_headers(request, limit, headers))
        return sandlot_fail(exchange->call, SANDLOT_INTERNAL, "a call of %s has too many headers; use less",
                            exchange->client->service);
    const struct http_request http = {.method = "POST",
                                      .target = request->target,
                                      .headers = headers,
                                      .type = request->on_message ? streamed : "application/json",
                                      .body = {.bytes = body, .length = length},
                                      .repeatable = request->repeatable,
                                      .limit = request->limit,
                                      .sink = request->on_message ? &exchange->reader.frames.sink : NULL,
                                      .enough = request->enough,
                                      .timeout_ms = request->timeout_ms,
                                      .silence_ms = request->silence_ms,
                                      .after_cancel = request->after_cancel};

    return judge(exchange, http_send(&exchange->inner.call, exchange->client, &http, &exchange->response));
}

enum sandlot_status connect_send(struct sandlot_call *call, struct http_client *client,
                                 const struct connect_request *request, struct connect_answer *answer)
{
    struct exchange exchange = {.call = call, .client = client, .request = request, .answer = answer};

    *answer = (struct connect_answer){0};
    attempt_begin(&exchange.inner, call, 0);
    connect_reader_init(&exchange.reader, request->limit ? request->limit : HTTP_DEFAULT_LIMIT, request->on_message,
                        request->context);
    enum sandlot_status status = exchange_run(&exchange);

    connect_reader_clear(&exchange.reader);
    http_response_clear(&exchange.response);
    return status;
}

void connect_answer_clear(struct connect_answer *answer)
{
    json_object_put(answer->message);
    *answer = (struct connect_answer){0};
}

/* A request from its first attempt to its last. */
#include "http_client.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/pause.h>
#include <sandlot/sdk/timestamp.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

/* A request under way. */
struct exchange {
    struct sandlot_call *call;
    struct http_client *client;
    const struct http_request *request;
    struct http_response *response;
    char *url;      /* the one at hand */
    int64_t end_ms; /* by the request's own limit; 0: it has none */
    int redirects;
};

/* ---- the pause between attempts ---------------------------------------------------------------------------------- */

/* A random number from 0 to MOST. */
static int64_t up_to(int64_t most)
{
    uint64_t random = 0;

    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random))
        random = (uint64_t)sandlot_now_ms() * 2654435761U; /* early in the machine's life: better than no jitter */
    return (int64_t)(random % (uint64_t)(most + 1));
}

/* How long to wait before the next attempt; -1: so long that there is none. */
static int64_t pause_before_next(const struct exchange *exchange)
{
    int64_t asked_ms = exchange->response->retry_ms;
    int64_t most_ms = exchange->client->pause_ms;

    for (int i = 1; i < exchange->response->attempts && most_ms < HTTP_LONGEST_PAUSE_MS / 2; i++)
        most_ms *= 2;
    /* Everybody was told the same time: a little jitter keeps them from coming back all at once. */
    int64_t pause_ms = asked_ms > 0 ? asked_ms + up_to(exchange->client->pause_ms) : up_to(most_ms);

    if (asked_ms > HTTP_LONGEST_PAUSE_MS)
        return -1;
    int64_t deadline_ms = http_deadline(exchange->call, exchange->request, exchange->end_ms);

    return deadline_ms != 0 && sandlot_now_ms() + pause_ms >= deadline_ms ? -1 : pause_ms;
}

static bool is_passing(const struct http_client *client, int status)
{
    for (const int *repeated = client->repeated; *repeated; repeated++)
        if (*repeated == status)
            return true;
    return status == 429 || status == 502 || status == 503 || status == 504;
}

/* After an answer: the service may decide itself. */
static bool is_asked_for(const struct exchange *exchange, int status)
{
    const char *header = exchange->client->repeat_header;
    const char *said = header && status >= 400 ? http_header(exchange->response, header) : NULL;

    if (said && strcasecmp(said, "true") == 0)
        return true;
    if (said && strcasecmp(said, "false") == 0)
        return false;
    return is_passing(exchange->client, status) && http_is_repeatable(exchange->request);
}

static bool may_repeat(const struct exchange *exchange, const struct http_attempt *attempt)
{
    const struct http_request *request = exchange->request;

    if (request->never_repeat || attempt->passed_on || attempt->source_spent ||
        exchange->response->attempts >= exchange->client->attempts)
        return false;
    if (attempt->outcome != SANDLOT_OK)
        return attempt->broken && (!attempt->arrived || http_is_repeatable(request));
    return !http_is_accepted(request, attempt->status) && is_asked_for(exchange, attempt->status);
}

static bool rewind_sources(const struct http_request *request)
{
    const struct http_body *body = &request->body;

    if (!request->parts)
        return !body->source || !body->rewind || body->rewind(body->rewind_context) == SANDLOT_OK;
    for (size_t i = 0; i < request->part_count; i++) {
        body = &request->parts[i].body;
        if (body->source && body->rewind && body->rewind(body->rewind_context) != SANDLOT_OK)
            return false;
    }
    return true;
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

static enum sandlot_status out_of_memory(const struct exchange *exchange)
{
    return http_fail(exchange->call, exchange->client, SANDLOT_INTERNAL,
                     "there is not enough memory for a request to %s; free some", exchange->client->service);
}

static const char *hint_after(enum sandlot_status status)
{
    switch (status) {
    case SANDLOT_UNAVAILABLE:
        return "check the network and proxy settings, and try again";
    case SANDLOT_TIMEOUT:
        return "try again, or allow more time";
    case SANDLOT_CANCELLED:
        return "try again if that was not meant";
    case SANDLOT_INVALID_ARGUMENT:
        return "check the address and parameters of the request";
    default:
        return "report it to the author of the provider";
    }
}

/* Tells of an attempt that brought no answer. */
static enum sandlot_status fail_attempt(const struct exchange *exchange, const struct http_attempt *attempt)
{
    AUTO_FREE char *url = http_shown_url(exchange->url, false);
    char tries[64] = "";

    if (attempt->told)
        return attempt->outcome;
    if (exchange->response->attempts > 1)
        snprintf(tries, sizeof(tries), " (%d attempts)", exchange->response->attempts);
    return http_fail(exchange->call, exchange->client, attempt->outcome, "%s could not be asked for %s %s%s: %s; %s",
                     exchange->client->service, exchange->request->method, url ? url : "?", tries, attempt->fault,
                     hint_after(attempt->outcome));
}

static bool keep_answer(const struct exchange *exchange, struct http_attempt *attempt)
{
    struct http_response *response = exchange->response;

    free(response->body);
    free(response->headers);
    free(response->url);
    response->status = attempt->status;
    response->bytes = attempt->bytes;
    response->length = attempt->body.length;
    response->headers_length = attempt->headers.length;
    response->body = sdk_buffer_take(&attempt->body);
    response->headers = sdk_buffer_take(&attempt->headers);
    response->url = strdup(exchange->url);
    if (!response->body || !response->headers || !response->url)
        return false;
    response->headers[response->headers_length] = '\0';
    response->retry_ms = http_retry_after(response->headers, response->headers_length, timestamp_now());
    if (response->retry_ms < 0 && (response->status == 429 || response->status == 503))
        response->retry_ms = http_retry_told(response->body, response->length);
    return true;
}

static void trace(const struct exchange *exchange, const struct http_attempt *attempt)
{
    AUTO_FREE char *url = http_shown_url(exchange->url, true);
    const char *query = strchr(exchange->url, '?') ? "?..." : "";
    char result[CURL_ERROR_SIZE + 96];

    if (attempt->outcome == SANDLOT_OK)
        snprintf(result, sizeof(result), "%d", attempt->status);
    else
        snprintf(result, sizeof(result), "%s", attempt->told ? "stopped by the caller" : attempt->fault);
    http_trace(exchange->call, exchange->client,
               "%s %s%s: %s, %" PRId64 " ms, %" PRIu64 " bytes up, %" PRIu64 " down, attempt %d, %s connection",
               exchange->request->method, url ? url : "?", query, result, attempt->duration_ms, attempt->sent,
               attempt->bytes ? attempt->bytes : attempt->body.length, exchange->response->attempts,
               attempt->reused ? "kept" : "new");
}

/* ---- the request ------------------------------------------------------------------------------------------------ */

static enum sandlot_status follow(struct exchange *exchange, struct http_attempt *attempt)
{
    if (++exchange->redirects > HTTP_MOST_REDIRECTS)
        return http_fail(exchange->call, exchange->client, SANDLOT_INTERNAL,
                         "%s redirected %s more than %d times; set the base address to where the service is now",
                         exchange->client->service, exchange->request->method, HTTP_MOST_REDIRECTS);
    if (http_is_secure(exchange->url) && !http_is_secure(attempt->redirect))
        return http_fail(exchange->call, exchange->client, SANDLOT_UNAVAILABLE,
                         "%s redirected from https to another scheme, which is refused; check the base address",
                         exchange->client->service);
    free(exchange->url);
    exchange->url = attempt->redirect;
    attempt->redirect = NULL;
    return SANDLOT_OK;
}

static void learn_secrets(const struct exchange *exchange)
{
    for (const char *const *header = exchange->request->headers; header && *header; header++)
        http_learn_header(exchange->client, *header);
    if (*exchange->request->target != '/')
        http_learn_password(exchange->client, exchange->url);
}

static bool is_read(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

/* One attempt with the redirects that it leads to. */
static enum sandlot_status attempt_once(struct exchange *exchange, struct http_attempt *attempt)
{
    for (;;) {
        *attempt = (struct http_attempt){
            .call = exchange->call,
            .client = exchange->client,
            .request = exchange->request,
            .url = exchange->url,
            .end_ms = exchange->end_ms,
            .may_redirect = is_read(exchange->request->method),
        };
        http_attempt_run(attempt);
        trace(exchange, attempt);
        if (attempt->outcome != SANDLOT_OK || !attempt->redirect ||
            http_is_accepted(exchange->request, attempt->status))
            return SANDLOT_OK;
        enum sandlot_status status = follow(exchange, attempt);

        if (status != SANDLOT_OK)
            return status;
        http_attempt_clear(attempt);
    }
}

static enum sandlot_status cancelled(const struct exchange *exchange)
{
    return http_fail(exchange->call, exchange->client, SANDLOT_CANCELLED,
                     "the request to %s was cancelled between two attempts; try again if that was not meant",
                     exchange->client->service);
}

/* Sends until there is an answer, or a reason to send no more. */
static enum sandlot_status send_until_done(struct exchange *exchange)
{
    struct http_attempt attempt = {0};

    for (;;) {
        exchange->response->attempts++;
        exchange->response->retry_ms = -1;
        enum sandlot_status status = attempt_once(exchange, &attempt);

        if (status != SANDLOT_OK) {
            http_attempt_clear(&attempt);
            return status;
        }
        bool answered = attempt.outcome == SANDLOT_OK || (exchange->client->http2 && attempt.headers.length > 0);

        if (answered && !keep_answer(exchange, &attempt))
            status = out_of_memory(exchange);
        int64_t pause_ms = status == SANDLOT_OK && may_repeat(exchange, &attempt) ? pause_before_next(exchange) : -1;

        if (pause_ms < 0 || !rewind_sources(exchange->request)) {
            if (status == SANDLOT_OK && attempt.outcome != SANDLOT_OK)
                status = fail_attempt(exchange, &attempt);
            else if (status == SANDLOT_OK && !http_is_accepted(exchange->request, attempt.status))
                status = http_response_fail(exchange->call, exchange->client, exchange->request, exchange->response);
            http_attempt_clear(&attempt);
            return status;
        }
        http_attempt_clear(&attempt);
        const struct sandlot_call heard = http_listen(exchange->call, exchange->request);

        if (!pause_for(&heard, pause_ms))
            return cancelled(exchange);
    }
}

/* When the REQUEST's own limit is over; 0: it has none. */
static int64_t end_of(const struct http_request *request)
{
    int64_t limit_ms = request->timeout_ms;

    if (request->after_cancel) {
        limit_ms = limit_ms <= 0 ? HTTP_CLEANUP_MS : limit_ms;
        limit_ms = limit_ms < HTTP_LONGEST_CLEANUP_MS ? limit_ms : HTTP_LONGEST_CLEANUP_MS;
    }
    return limit_ms > 0 ? sandlot_now_ms() + limit_ms : 0;
}

enum sandlot_status http_send(struct sandlot_call *call, struct http_client *client, const struct http_request *request,
                              struct http_response *response)
{
    struct http_response unwanted = {0};
    struct exchange exchange = {
        .call = call,
        .client = client,
        .request = request,
        .response = response ? response : &unwanted,
        .end_ms = end_of(request),
    };

    *exchange.response = (struct http_response){.retry_ms = -1};
    snprintf(exchange.response->method, sizeof(exchange.response->method), "%s", request->method);
    if (!request->target)
        return http_fail(
            call, client, SANDLOT_INVALID_ARGUMENT,
            "%s cannot be asked for a thing whose id is empty, \".\" or \"..\", or memory is short; check the id",
            client->service);
    exchange.url = http_absolute(client, request->target);
    if (!exchange.url)
        return out_of_memory(&exchange);
    learn_secrets(&exchange);
    enum sandlot_status status = send_until_done(&exchange);

    free(exchange.url);
    http_response_clear(&unwanted);
    return status;
}

void http_response_clear(struct http_response *response)
{
    free(response->body);
    free(response->headers);
    free(response->url);
    *response = (struct http_response){0};
}

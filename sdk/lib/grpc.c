/* A gRPC call from its first attempt to its last. */
#include <sandlot/sdk/grpc.h>
#include <sandlot/sdk/pause.h>

#include "grpc_answer.h"
#include "http_client.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/frames.h>
#include <sandlot/sdk/random.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_ATTEMPTS = 4,
    DEFAULT_PAUSE_MS = 100,
    DEFAULT_LONGEST_PAUSE_MS = 1000,
    DEFAULT_LONGEST_ASKED_MS = 10 * 60 * 1000,
    DEFAULT_LIMIT = 16 * 1024 * 1024,
    MOST_METADATA = 32,
    HEAD = 5,
    TIMEOUT_DIGITS = 100000000 /* the least number that has too many */
};

struct grpc_client {
    struct http_client *http;
    int attempts;
    int pause_ms;
    int longest_pause_ms;
    int64_t longest_asked_ms;
    size_t (*describe)(const struct grpc_attempt *attempt, char lines[GRPC_ATTEMPT_LINES][GRPC_ATTEMPT_LINE]);
    int64_t (*asked_ms)(const void *details, size_t length);
};

/* A call under way. */
struct exchange {
    struct sandlot_call *call;
    struct grpc_client *client;
    const struct grpc_request *request;
    struct grpc_answer *answer;
    unsigned char *body; /* the message in its frame */
    char key[GRPC_KEY_SIZE];
    struct grpc_attempt attempt;
    int64_t begun_ms;
    int64_t first_asked_ms; /* when the service first asked for a pause */
    int64_t asked_total_ms;
};

/* One attempt. */
struct trial {
    struct exchange *exchange;
    struct attempt inner; /* takes what is told of failures that are followed by another attempt */
    size_t messages;
    enum sandlot_status stopped; /* by a message that is of no use, or by its receiver */
    int code;
    int64_t asked_ms; /* the pause that the service asks for; -1: none */
};

static enum sandlot_status no_memory(struct sandlot_call *call, const struct grpc_client *client)
{
    return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for a call of %s; free some",
                        client->http->service);
}

/* ---- the client ------------------------------------------------------------------------------------------------- */

static int positive(int value, int otherwise)
{
    return value > 0 ? value : otherwise;
}

enum sandlot_status grpc_client_open(struct sandlot_call *call, const struct grpc_options *options,
                                     struct grpc_client **client)
{
    const struct http_options http = {.service = options->service,
                                      .base_url = options->base_url,
                                      .headers = options->metadata,
                                      .attempts = 1,
                                      .silence_ms = options->silence_ms,
                                      .key_from = options->key_from,
                                      .http2 = true};
    struct grpc_client *made = calloc(1, sizeof(*made));

    *client = NULL;
    if (!made)
        return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for a gRPC client; free some");
    made->attempts = positive(options->attempts, DEFAULT_ATTEMPTS);
    made->pause_ms = positive(options->pause_ms, DEFAULT_PAUSE_MS);
    made->longest_pause_ms = positive(options->longest_pause_ms, DEFAULT_LONGEST_PAUSE_MS);
    made->longest_asked_ms = options->longest_asked_ms ? options->longest_asked_ms : DEFAULT_LONGEST_ASKED_MS;
    made->describe = options->describe;
    made->asked_ms = options->asked_ms;
    enum sandlot_status status = http_client_open(call, &http, &made->http);

    if (status == SANDLOT_OK)
        *client = made;
    else
        free(made);
    return status;
}

void grpc_client_close(struct grpc_client *client)
{
    if (client)
        http_client_close(client->http);
    free(client);
}

void grpc_client_add_secret(struct grpc_client *client, const char *text)
{
    http_client_add_secret(client->http, text);
}

void grpc_new_key(char key[GRPC_KEY_SIZE])
{
    random_uuid(key);
}

/* ---- messages --------------------------------------------------------------------------------------------------- */

static enum sandlot_status keep_message(struct trial *trial, const void *message, size_t length)
{
    struct grpc_answer *answer = trial->exchange->answer;

    if (answer->message) /* a second one: the count tells */
        return SANDLOT_OK;
    answer->message = malloc(length + 1);
    if (!answer->message)
        return no_memory(&trial->inner.call, trial->exchange->client);
    memcpy(answer->message, message, length);
    answer->message[length] = '\0';
    answer->length = length;
    return SANDLOT_OK;
}

static enum sandlot_status on_frame(void *context, unsigned char flags, const void *payload, size_t length)
{
    struct trial *trial = context;
    const struct grpc_request *request = trial->exchange->request;

    trial->messages++;
    if (flags != 0)
        trial->stopped = sandlot_fail(&trial->inner.call, SANDLOT_INTERNAL,
                                      "%s sent a message that is compressed, which was not agreed on; report it to the "
                                      "author of the provider",
                                      trial->exchange->client->http->service);
    else if (request->on_message)
        trial->stopped = request->on_message(request->context, payload, length);
    else
        trial->stopped = keep_message(trial, payload, length);
    return trial->stopped;
}

/* ---- one attempt ------------------------------------------------------------------------------------------------ */

static int64_t earlier(int64_t one_ms, int64_t other_ms)
{
    return one_ms < other_ms ? one_ms : other_ms;
}

/* What is left for an attempt; 0: there is no limit. */
static int64_t time_left(const struct exchange *exchange)
{
    int64_t limit_ms = exchange->request->timeout_ms;

    if (exchange->call->deadline_ms == 0 || exchange->request->after_cancel)
        return limit_ms > 0 ? limit_ms : 0;
    int64_t left_ms = exchange->call->deadline_ms - sandlot_now_ms();

    left_ms = left_ms > 1 ? left_ms : 1;
    return limit_ms > 0 ? earlier(limit_ms, left_ms) : left_ms;
}

/* The lines of the request's metadata and of the attempt, ended by NULL. False: there are too many. */
static bool collect_metadata(struct exchange *exchange, char lines[GRPC_ATTEMPT_LINES][GRPC_ATTEMPT_LINE],
                             char timeout[32], const char *headers[MOST_METADATA])
{
    int64_t left_ms = time_left(exchange);
    size_t used = 0;

    headers[used++] = "te: trailers";
    if (left_ms > 0) {
        snprintf(timeout, 32, "grpc-timeout: %" PRId64 "%s", left_ms < TIMEOUT_DIGITS ? left_ms : left_ms / 1000,
                 left_ms < TIMEOUT_DIGITS ? "m" : "S");
        headers[used++] = timeout;
    }
    if (exchange->client->describe && !exchange->request->on_message) {
        size_t count = exchange->client->describe(&exchange->attempt, lines);

        for (size_t i = 0; i < count; i++)
            headers[used++] = lines[i];
    }
    for (const char *const *line = exchange->request->metadata; line && *line; line++) {
        if (used == MOST_METADATA - 1)
            return false;
        headers[used++] = *line;
    }
    headers[used] = NULL;
    return true;
}

/* Notes what the service says, or what is to be said in its place: without secrets first, only then cut. */
static void note(struct trial *trial, int code, const char *text, bool unanswered)
{
    struct grpc_answer *answer = trial->exchange->answer;
    char clean[GRPC_LONGEST_TEXT];

    trial->code = code;
    answer->unanswered = unanswered;
    snprintf(clean, sizeof(clean), "%s", text);
    sdk_redact(&trial->exchange->client->http->secrets, clean);
    sdk_one_line(answer->text, sizeof(answer->text), clean, strlen(clean));
}

/* The code of an answer without one. SANDLOT_OK: it is noted; any other status ends the call. */
static enum sandlot_status judge_silence(struct trial *trial, enum sandlot_status sent,
                                         const struct http_response *response, bool is_grpc)
{
    const struct exchange *exchange = trial->exchange;
    bool over = exchange->call->deadline_ms != 0 && sandlot_now_ms() >= exchange->call->deadline_ms;
    char text[64];

    if (response->status != 0 && (response->status < 200 || response->status > 299)) {
        snprintf(text, sizeof(text), "its answer was no gRPC but status %d of HTTP", response->status);
        note(trial, grpc_code_of_http(response->status), text, false);
    } else if (sent == SANDLOT_UNAVAILABLE) {
        note(trial, GRPC_UNAVAILABLE, trial->inner.reason, true);
    } else if (sent == SANDLOT_TIMEOUT && !over) {
        note(trial, GRPC_DEADLINE_EXCEEDED, trial->inner.reason, true);
    } else if (sent != SANDLOT_OK) {
        return attempt_fail(&trial->inner, sent);
    } else if (!is_grpc) {
        note(trial, GRPC_UNKNOWN, "its answer was no gRPC", false);
    } else {
        note(trial, GRPC_UNAVAILABLE, "its answer ended without a status", false);
    }
    return SANDLOT_OK;
}

/* A good status is not enough: what was to come must have come. */
static void check_messages(struct trial *trial, struct frames *frames)
{
    if (frames_end(frames) != SANDLOT_OK)
        note(trial, GRPC_INTERNAL, "its answer ended inside a message", false);
    else if (!trial->exchange->request->on_message && trial->messages != 1)
        note(trial, GRPC_INTERNAL, "its answer was not one message", false);
}

static enum sandlot_status judge(struct trial *trial, enum sandlot_status sent, const struct http_response *response,
                                 struct frames *frames)
{
    struct exchange *exchange = trial->exchange;
    struct grpc_verdict verdict;
    enum sandlot_status status = SANDLOT_OK;

    if (exchange->request->enough && *exchange->request->enough) {
        trial->code = GRPC_OK;
        return SANDLOT_OK;
    }
    if (trial->stopped != SANDLOT_OK || sent == SANDLOT_CANCELLED)
        return sandlot_fail(exchange->call, sent != SANDLOT_OK ? sent : trial->stopped, "%s",
                            *trial->inner.reason ? trial->inner.reason : "the call was ended by its receiver");
    grpc_verdict_read(&verdict, response->headers ? response->headers : "", response->headers_length);
    /* One that came before the messages does not know how they ended. */
    bool judged = verdict.code != GRPC_NO_CODE && (verdict.trailing || response->bytes == 0);

    if (frames->status != SANDLOT_OK && verdict.is_grpc)
        note(trial, GRPC_INTERNAL, trial->inner.reason, false);
    else if (frames->status != SANDLOT_OK)
        note(trial, GRPC_UNKNOWN, "its answer was no gRPC", false);
    else if (judged)
        note(trial, verdict.code, verdict.text, false);
    else
        status = judge_silence(trial, sent, response, verdict.is_grpc);
    if (status == SANDLOT_OK && trial->code == GRPC_OK)
        check_messages(trial, frames);
    trial->asked_ms = response->retry_ms > 0 ? response->retry_ms : -1;
    if (verdict.details && exchange->client->asked_ms)
        trial->asked_ms = exchange->client->asked_ms(verdict.details, verdict.details_length);
    grpc_verdict_clear(&verdict);
    return status;
}

/* SANDLOT_OK: there is a code; any other status ends the call. */
static enum sandlot_status try_once(struct exchange *exchange, struct trial *trial)
{
    const struct grpc_request *request = exchange->request;
    char lines[GRPC_ATTEMPT_LINES][GRPC_ATTEMPT_LINE];
    char timeout[32];
    const char *headers[MOST_METADATA];
    struct frames frames;
    struct http_response response = {.retry_ms = -1};

    *trial = (struct trial){.exchange = exchange, .asked_ms = -1};
    attempt_begin(&trial->inner, exchange->call, 0);
    grpc_answer_clear(exchange->answer);
    if (!collect_metadata(exchange, lines, timeout, headers))
        return sandlot_fail(exchange->call, SANDLOT_INTERNAL, "a call of %s has too much metadata; use less",
                            exchange->client->http->service);
    frames_init(&frames, &trial->inner.call, &frame_format_connect, request->limit ? request->limit : DEFAULT_LIMIT,
                on_frame, trial);
    const struct http_request http = {.method = "POST",
                                      .target = request->method,
                                      .headers = headers,
                                      .type = "application/grpc",
                                      .body = {.bytes = exchange->body, .length = request->length + HEAD},
                                      .sink = &frames.sink,
                                      .enough = request->enough,
                                      .timeout_ms = request->timeout_ms,
                                      .silence_ms = request->silence_ms,
                                      .after_cancel = request->after_cancel};
    enum sandlot_status sent = http_send(&trial->inner.call, exchange->client->http, &http, &response);
    enum sandlot_status status = judge(trial, sent, &response, &frames);

    exchange->answer->messages = trial->messages;
    http_response_clear(&response);
    frames_clear(&frames);
    return status;
}

/* ---- repeating -------------------------------------------------------------------------------------------------- */

static bool fits(const struct exchange *exchange, int64_t pause_ms)
{
    return exchange->call->deadline_ms == 0 || sandlot_now_ms() + pause_ms < exchange->call->deadline_ms;
}

/* The service has asked for a pause. -1: it is too long. */
static int64_t take_asked(struct exchange *exchange, int64_t asked_ms)
{
    if (asked_ms > HTTP_LONGEST_PAUSE_MS || !fits(exchange, asked_ms) ||
        exchange->asked_total_ms + asked_ms > exchange->client->longest_asked_ms)
        return -1;
    if (exchange->attempt.asked_repeats++ == 0)
        exchange->first_asked_ms = sandlot_now_ms();
    exchange->asked_total_ms += asked_ms;
    return asked_ms;
}

static bool is_accepted(const struct exchange *exchange, int code)
{
    return code <= GRPC_UNAUTHENTICATED && (exchange->request->accepted & GRPC_BIT(code));
}

/* Has the service asked for a pause, before anything was passed on? */
static bool is_asked(const struct trial *trial)
{
    return trial->asked_ms >= 0 && trial->messages == 0;
}

/* The pause before another attempt; -1: there is to be none. */
static int64_t next_pause(struct exchange *exchange, const struct trial *trial)
{
    const struct grpc_client *client = exchange->client;

    if (trial->code == GRPC_OK || exchange->request->once || exchange->request->after_cancel)
        return -1;
    if (is_asked(trial))
        return take_asked(exchange, trial->asked_ms);
    if (exchange->request->on_message || trial->code > GRPC_UNAUTHENTICATED ||
        !(GRPC_TRANSIENT & GRPC_BIT(trial->code)) || is_accepted(exchange, trial->code) ||
        exchange->attempt.repeats + 1 >= client->attempts)
        return -1;
    int64_t pause_ms = client->pause_ms;

    for (int i = 0; i < exchange->attempt.repeats && pause_ms < client->longest_pause_ms; i++)
        pause_ms *= 2;
    exchange->attempt.repeats++;
    pause_ms = earlier(pause_ms, client->longest_pause_ms);
    return fits(exchange, pause_ms) ? pause_ms : -1;
}

/* ---- ends ------------------------------------------------------------------------------------------------------- */

static enum sandlot_status fail_answer(struct sandlot_call *call, struct grpc_client *client,
                                       const struct grpc_request *request, const struct grpc_answer *answer,
                                       int64_t asked_ms)
{
    const char *name = strrchr(request->method, '/');
    enum sandlot_status status = asked_ms > 0 ? SANDLOT_EXHAUSTED : grpc_status_of(answer->code);
    bool said = *answer->text != '\0';
    char tries[64] = "";
    char wait[96] = "";
    char about_key[HTTP_KEY_HINT];

    http_key_hint(about_key, sizeof(about_key), client->http->key_from);
    if (answer->unanswered)
        return http_fail(call, client->http, status, "%s", answer->text);
    if (answer->attempts > 1)
        snprintf(tries, sizeof(tries), " (%d attempts)", answer->attempts);
    if (asked_ms > 0)
        snprintf(wait, sizeof(wait), "; it wants to be left alone for %" PRId64 " s", (asked_ms + 999) / 1000);
    return http_fail(call, client->http, status, "%s answered %s with %s (%d)%s%s%s%s%s; %s", client->http->service,
                     name ? name + 1 : request->method, grpc_code_name(answer->code), answer->code, said ? ": \"" : "",
                     answer->text, said ? "\"" : "", tries, wait,
                     status == SANDLOT_AUTH ? about_key : grpc_hint_after(status));
}

enum sandlot_status grpc_answer_fail(struct sandlot_call *call, struct grpc_client *client,
                                     const struct grpc_request *request, const struct grpc_answer *answer)
{
    return fail_answer(call, client, request, answer, -1);
}

static enum sandlot_status send_until_done(struct exchange *exchange)
{
    struct trial trial;

    for (int attempts = 1;; attempts++) {
        int64_t now_ms = sandlot_now_ms();

        exchange->attempt.since_first_ms = now_ms - exchange->begun_ms;
        exchange->attempt.since_first_asked_ms = exchange->first_asked_ms ? now_ms - exchange->first_asked_ms : 0;
        enum sandlot_status status = try_once(exchange, &trial);

        exchange->answer->attempts = attempts;
        if (status != SANDLOT_OK)
            return status;
        exchange->answer->code = trial.code;
        int64_t pause_ms = next_pause(exchange, &trial);

        if (pause_ms >= 0) {
            if (pause_for(exchange->call, pause_ms))
                continue;
            return http_fail(exchange->call, exchange->client->http, SANDLOT_CANCELLED,
                             "the call of %s was cancelled between two attempts; try again if that was not meant",
                             exchange->client->http->service);
        }
        bool refused = is_asked(&trial) && trial.code != GRPC_OK; /* and for too long to wait */

        if (!refused && (trial.code == GRPC_OK || is_accepted(exchange, trial.code)))
            return SANDLOT_OK;
        return fail_answer(exchange->call, exchange->client, exchange->request, exchange->answer,
                           refused ? trial.asked_ms : -1);
    }
}

enum sandlot_status grpc_send(struct sandlot_call *call, struct grpc_client *client, const struct grpc_request *request,
                              struct grpc_answer *answer)
{
    AUTO_FREE unsigned char *body = malloc(request->length + HEAD);
    struct exchange exchange = {.call = call,
                                .client = client,
                                .request = request,
                                .answer = answer,
                                .body = body,
                                .begun_ms = sandlot_now_ms()};

    *answer = (struct grpc_answer){0};
    if (!body || frame_head(&frame_format_connect, 0, request->length, body) != HEAD)
        return no_memory(call, client);
    if (request->length > 0)
        memcpy(body + HEAD, request->message, request->length);
    grpc_new_key(exchange.key);
    exchange.attempt.key = exchange.key;
    return send_until_done(&exchange);
}

void grpc_answer_clear(struct grpc_answer *answer)
{
    free(answer->message);
    *answer = (struct grpc_answer){0};
}

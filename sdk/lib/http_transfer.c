/* One attempt to get a request answered: libcurl's callbacks, and the loop that waits. */
#include "http_client.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_WAIT_MS = 1000 };

/* One body that curl reads from: the request's or that of a part. */
struct stream {
    struct transfer *transfer;
    const struct http_body *body;
    uint64_t sent;
};

struct transfer {
    struct http_attempt *attempt;
    struct http_connection *connection;
    struct curl_slist *headers;
    curl_mime *form;
    struct stream *streams;
    struct stream *paused;        /* waits for its source */
    bool resumed;                 /* the source has something again, and nobody has asked for it yet */
    int64_t moved_ms;             /* when a byte last went either way */
    curl_off_t moved;             /* how many had until then */
    char reason[CURL_ERROR_SIZE]; /* libcurl's, for a failure of its own */
    bool enough;                  /* the caller has had enough, or an error has been read in full */
    bool begun;                   /* libcurl has begun to send it */
    bool headed;                  /* the empty line behind the headers of the answer has come */
};

static size_t fault(struct transfer *transfer, enum sandlot_status status, const char *text)
{
    struct http_attempt *attempt = transfer->attempt;

    if (attempt->outcome == SANDLOT_OK) {
        attempt->outcome = status;
        snprintf(attempt->fault, sizeof(attempt->fault), "%s", text);
    }
    return 0;
}

/* Somebody outside has said that it is over, and why. */
static size_t outside_fault(struct transfer *transfer, enum sandlot_status status)
{
    transfer->attempt->outcome = status;
    transfer->attempt->told = true;
    return 0;
}

/* ---- the answer ------------------------------------------------------------------------------------------------- */

static size_t on_header(char *line, size_t one, size_t length, void *context)
{
    struct transfer *transfer = context;
    struct http_attempt *attempt = transfer->attempt;

    (void)one;
    if (length >= 5 && memcmp(line, "HTTP/", 5) == 0) {
        attempt->headers.length = 0; /* the last answer counts, not a 100 Continue before it */
        transfer->headed = false;
    }
    transfer->headed = transfer->headed || *line == '\r' || *line == '\n';
    enum sdk_growth growth = sdk_buffer_add(&attempt->headers, line, length);

    if (growth == SDK_TOO_LONG)
        return fault(transfer, SANDLOT_INTERNAL, "the headers of the answer are longer than 256 KiB");
    if (growth == SDK_NO_MEMORY)
        return fault(transfer, SANDLOT_INTERNAL, "there is not enough memory for the headers of the answer");
    return length;
}

static size_t keep_body(struct transfer *transfer, const char *bytes, size_t length)
{
    struct http_attempt *attempt = transfer->attempt;
    char text[96];

    switch (sdk_buffer_add(&attempt->body, bytes, length)) {
    case SDK_GROWN:
        return length;
    case SDK_TOO_LONG:
        snprintf(text, sizeof(text), "the answer is longer than %zu bytes", attempt->body.limit);
        return fault(transfer, SANDLOT_INTERNAL, text);
    default:
        return fault(transfer, SANDLOT_INTERNAL, "there is not enough memory for the answer");
    }
}

static size_t keep_error(struct transfer *transfer, const char *bytes, size_t length)
{
    struct sdk_buffer *body = &transfer->attempt->body;

    body->limit = HTTP_LONGEST_ERROR_BODY;
    size_t room = body->limit - body->length;

    if (length <= room)
        return keep_body(transfer, bytes, length);
    keep_body(transfer, bytes, room);
    transfer->enough = true;
    return 0;
}

static size_t on_body(char *bytes, size_t one, size_t length, void *context)
{
    struct transfer *transfer = context;
    struct http_attempt *attempt = transfer->attempt;
    const struct http_request *request = attempt->request;
    long status = 0;

    (void)one;
    curl_easy_getinfo(transfer->connection->easy, CURLINFO_RESPONSE_CODE, &status);
    if (!http_is_accepted(request, (int)status))
        return keep_error(transfer, bytes, length);
    attempt->bytes += length;
    if (!request->sink)
        return keep_body(transfer, bytes, length);
    attempt->passed_on = true;
    enum sandlot_status written = request->sink->write(request->sink, bytes, length);

    transfer->moved_ms = sandlot_now_ms(); /* a sink that took its time is no silence of the service */
    if (written != SANDLOT_OK)
        return outside_fault(transfer, written);
    if (request->enough && *request->enough) {
        transfer->enough = true;
        return 0;
    }
    return length;
}

/* ---- the request ------------------------------------------------------------------------------------------------ */

/* Before each sending. libcurl sends again by itself what a kept connection swallowed: it may have been done. */
static int on_begin(void *context, char *remote, char *local, int remote_port, int local_port)
{
    struct transfer *transfer = context;
    bool again = transfer->begun;

    (void)remote, (void)local, (void)remote_port, (void)local_port;
    transfer->begun = true;
    if (!again || http_is_repeatable(transfer->attempt->request))
        return CURL_PREREQFUNC_OK;
    fault(transfer, SANDLOT_UNAVAILABLE, "the connection ended before an answer came");
    return CURL_PREREQFUNC_ABORT;
}

static size_t read_source(struct stream *stream, char *buffer, size_t capacity)
{
    const struct sandlot_source *source = stream->body->source;
    struct transfer *transfer = stream->transfer;
    struct pollfd ready = {source->poll_fd, POLLIN, 0};
    size_t length = 0;

    if (source->poll_fd >= 0 && poll(&ready, 1, 0) == 0) {
        transfer->paused = stream;
        transfer->resumed = false;
        return CURL_READFUNC_PAUSE;
    }
    transfer->resumed = false;
    if (!stream->body->rewind)
        transfer->attempt->source_spent = true;
    enum sandlot_status status = source->read(source, buffer, capacity, &length);

    transfer->moved_ms = sandlot_now_ms();
    if (status != SANDLOT_OK) {
        outside_fault(transfer, status);
        return CURL_READFUNC_ABORT;
    }
    if (length == 0 && stream->body->length != HTTP_LENGTH_UNKNOWN) {
        char text[128];

        snprintf(text, sizeof(text), "the data to send ended after %" PRIu64 " of %" PRIu64 " bytes", stream->sent,
                 stream->body->length);
        fault(transfer, SANDLOT_INVALID_ARGUMENT, text);
        return CURL_READFUNC_ABORT;
    }
    stream->sent += length;
    return length;
}

static size_t on_read(char *buffer, size_t one, size_t capacity, void *context)
{
    struct stream *stream = context;
    uint64_t left = stream->body->length - stream->sent;

    if (one != 1)
        capacity *= one;
    capacity = left < capacity ? (size_t)left : capacity;
    if (capacity == 0)
        return 0;
    if (!stream->body->bytes)
        return read_source(stream, buffer, capacity);
    memcpy(buffer, (const char *)stream->body->bytes + stream->sent, capacity);
    stream->sent += capacity;
    return capacity;
}

static int on_seek(void *context, curl_off_t offset, int origin)
{
    struct stream *stream = context;

    if (origin != SEEK_SET || offset < 0)
        return CURL_SEEKFUNC_FAIL;
    if ((uint64_t)offset == stream->sent)
        return CURL_SEEKFUNC_OK;
    if (stream->body->bytes && (uint64_t)offset <= stream->body->length) {
        stream->sent = (uint64_t)offset;
        return CURL_SEEKFUNC_OK;
    }
    if (offset != 0 || !stream->body->rewind || stream->body->rewind(stream->body->rewind_context) != SANDLOT_OK)
        return CURL_SEEKFUNC_FAIL;
    stream->sent = 0;
    return CURL_SEEKFUNC_OK;
}

#define SET(option, value) (failed |= curl_easy_setopt(easy, (option), (value)) != CURLE_OK)

static bool add_part(struct transfer *transfer, const struct http_part *part, struct stream *stream)
{
    curl_mimepart *made = curl_mime_addpart(transfer->form);
    curl_off_t length = part->body.length == HTTP_LENGTH_UNKNOWN ? -1 : (curl_off_t)part->body.length;

    *stream = (struct stream){transfer, &part->body, 0};
    return made && curl_mime_name(made, part->name) == CURLE_OK &&
           (!part->file_name || curl_mime_filename(made, part->file_name) == CURLE_OK) &&
           (!part->type || curl_mime_type(made, part->type) == CURLE_OK) &&
           curl_mime_data_cb(made, length, on_read, on_seek, NULL, stream) == CURLE_OK;
}

static bool set_form(struct transfer *transfer, CURL *easy)
{
    const struct http_request *request = transfer->attempt->request;
    bool failed = false;

    transfer->form = curl_mime_init(easy);
    if (!transfer->form)
        return false;
    for (size_t i = 0; i < request->part_count; i++)
        if (!add_part(transfer, &request->parts[i], &transfer->streams[i]))
            return false;
    SET(CURLOPT_MIMEPOST, transfer->form);
    return !failed;
}

static bool set_body(struct transfer *transfer, CURL *easy)
{
    const struct http_request *request = transfer->attempt->request;
    const struct http_body *body = &request->body;
    bool failed = false;

    transfer->streams = calloc(request->part_count + 1, sizeof(*transfer->streams));
    if (!transfer->streams)
        return false;
    if (request->parts) {
        failed = !set_form(transfer, easy);
    } else if (body->source) {
        transfer->streams[0] = (struct stream){transfer, body, 0};
        SET(CURLOPT_UPLOAD, 1L);
        SET(CURLOPT_READFUNCTION, on_read);
        SET(CURLOPT_READDATA, transfer->streams);
        SET(CURLOPT_SEEKFUNCTION, on_seek);
        SET(CURLOPT_SEEKDATA, transfer->streams);
        SET(CURLOPT_INFILESIZE_LARGE, body->length == HTTP_LENGTH_UNKNOWN ? (curl_off_t)-1 : (curl_off_t)body->length);
    } else if (body->bytes || strcmp(request->method, "POST") == 0 || strcmp(request->method, "PUT") == 0 ||
               strcmp(request->method, "PATCH") == 0) {
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)(body->bytes ? body->length : 0));
        SET(CURLOPT_POSTFIELDS, body->bytes ? body->bytes : "");
    } else if (strcmp(request->method, "HEAD") == 0) {
        SET(CURLOPT_NOBODY, 1L);
    }
    SET(CURLOPT_CUSTOMREQUEST, request->method);
    return !failed;
}

static bool set_up(struct transfer *transfer)
{
    struct http_attempt *attempt = transfer->attempt;
    CURL *easy = transfer->connection->easy;
    bool failed = !http_configure(attempt->client, easy, attempt->url);

    transfer->headers = http_headers(attempt->call, attempt->client, attempt->request, attempt->url, &attempt->outcome);
    if (attempt->outcome != SANDLOT_OK) {
        attempt->told = true;
        return false;
    }
    /* On a kept connection that turns out to be closed libcurl would send it a second time. */
    SET(CURLOPT_FRESH_CONNECT, attempt->request->never_repeat ? 1L : 0L);
    SET(CURLOPT_HTTPHEADER, transfer->headers);
    SET(CURLOPT_PREREQFUNCTION, on_begin);
    SET(CURLOPT_PREREQDATA, transfer);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, transfer);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, transfer);
    SET(CURLOPT_ERRORBUFFER, transfer->reason);
    /* What a sink gets has its own form; where it comes compressed all the same, libcurl undoes that. */
    SET(CURLOPT_ACCEPT_ENCODING, attempt->request->sink ? "identity" : "gzip");
    if (!failed && set_body(transfer, easy))
        return true;
    fault(transfer, SANDLOT_INTERNAL, "there is not enough memory for a request");
    return false;
}

/* ---- waiting ---------------------------------------------------------------------------------------------------- */

static int64_t sooner(int64_t one_ms, int64_t other_ms)
{
    return one_ms < other_ms ? one_ms : other_ms;
}

enum sandlot_status http_wait(const struct sandlot_call *call, CURLM *multi, int extra, short events,
                              int64_t deadline_ms, int at_most_ms)
{
    struct curl_waitfd fds[2];
    unsigned int count = 0;
    int64_t wait_ms = at_most_ms;

    if (sandlot_cancelled(call))
        return SANDLOT_CANCELLED;
    if (deadline_ms != 0) {
        wait_ms = sooner(wait_ms, deadline_ms - sandlot_now_ms());
        if (wait_ms <= 0)
            return SANDLOT_TIMEOUT;
    }
    if (call->cancel_fd >= 0)
        fds[count++] = (struct curl_waitfd){call->cancel_fd, CURL_WAIT_POLLIN, 0};
    if (extra >= 0)
        fds[count++] = (struct curl_waitfd){extra, events, 0};
    curl_multi_poll(multi, fds, count, (int)wait_ms, NULL);
    return sandlot_cancelled(call) ? SANDLOT_CANCELLED : SANDLOT_OK;
}

/* Has nothing moved for too long? While the caller's source has nothing to give, that is no silence of the service. */
static bool is_silent(struct transfer *transfer, int64_t limit_ms)
{
    curl_off_t up = 0;
    curl_off_t down = 0;

    curl_easy_getinfo(transfer->connection->easy, CURLINFO_SIZE_UPLOAD_T, &up);
    curl_easy_getinfo(transfer->connection->easy, CURLINFO_SIZE_DOWNLOAD_T, &down);
    curl_off_t moved = up + down + (curl_off_t)transfer->attempt->headers.length;

    if (moved != transfer->moved || transfer->paused) {
        transfer->moved = moved;
        transfer->moved_ms = sandlot_now_ms();
    }
    return limit_ms > 0 && sandlot_now_ms() - transfer->moved_ms >= limit_ms;
}

int64_t http_deadline(const struct sandlot_call *call, const struct http_request *request, int64_t end_ms)
{
    int64_t call_ms = request->after_cancel ? 0 : attempt_deadline(call);

    return call_ms == 0 || (end_ms != 0 && end_ms < call_ms) ? end_ms : call_ms;
}

/* Waits until there is something to do. False: the transfer is over. In a form libcurl first sends what it has of a
 * part whose source has nothing; what is resumed before that has gone is paused afterwards all the same, and it does
 * not ask again whether there is something. */
static bool wait_on(struct transfer *transfer)
{
    struct http_attempt *attempt = transfer->attempt;
    int64_t limit_ms = attempt->request->silence_ms ? attempt->request->silence_ms : attempt->client->silence_ms;
    int64_t left_ms = limit_ms > 0 ? transfer->moved_ms + limit_ms - sandlot_now_ms() : LONGEST_WAIT_MS;
    int source = transfer->paused ? transfer->paused->body->source->poll_fd : -1;
    const struct sandlot_call heard = http_listen(attempt->call, attempt->request);

    if (transfer->resumed)
        curl_easy_pause(transfer->connection->easy, CURLPAUSE_CONT);
    enum sandlot_status status = http_wait(&heard, transfer->connection->multi, source, CURL_WAIT_POLLIN,
                                           http_deadline(attempt->call, attempt->request, attempt->end_ms),
                                           (int)(left_ms < 1 ? 1 : sooner(left_ms, LONGEST_WAIT_MS)));

    if (status != SANDLOT_OK) {
        fault(transfer, status, status == SANDLOT_CANCELLED ? "it was cancelled" : "it was not done in time");
        return false;
    }
    if (transfer->paused) {
        struct pollfd ready = {source, POLLIN, 0};

        if (poll(&ready, 1, 0) != 0) {
            transfer->paused = NULL;
            transfer->resumed = true;
            curl_easy_pause(transfer->connection->easy, CURLPAUSE_CONT);
        }
    }
    if (is_silent(transfer, limit_ms)) {
        char text[96];

        snprintf(text, sizeof(text), "nothing was heard of it for %" PRId64 " s", (limit_ms + 999) / 1000);
        fault(transfer, SANDLOT_UNAVAILABLE, text);
        return false;
    }
    return true;
}

/* ---- how it ended ------------------------------------------------------------------------------------------------ */

static enum sandlot_status status_of_code(CURLcode code)
{
    switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return SANDLOT_INVALID_ARGUMENT;
    case CURLE_OUT_OF_MEMORY:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_BAD_FUNCTION_ARGUMENT:
    case CURLE_FAILED_INIT:
#if LIBCURL_VERSION_NUM >= 0x080600
    case CURLE_TOO_LARGE:
#endif
        return SANDLOT_INTERNAL;
    default:
        return SANDLOT_UNAVAILABLE;
    }
}

static bool is_broken(CURLcode code)
{
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_OPERATION_TIMEDOUT: /* of connecting; no other limit is left to curl */
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_PROXY:
        return true;
    default:
        return false;
    }
}

static void conclude(struct transfer *transfer, CURLcode code)
{
    struct http_attempt *attempt = transfer->attempt;

    if (attempt->outcome != SANDLOT_OK || transfer->enough)
        return;
    if (code == CURLE_OK && !transfer->headed) { /* to libcurl that is an answer without a body */
        attempt->broken = true;
        fault(transfer, SANDLOT_UNAVAILABLE, "the connection ended inside the headers of the answer");
    }
    if (code == CURLE_OK)
        return;
    attempt->broken = is_broken(code);
    attempt->outcome = status_of_code(code);
    const char *reason = *transfer->reason ? transfer->reason : curl_easy_strerror(code);

    if (code == CURLE_UNSUPPORTED_PROTOCOL && attempt->arrived) { /* libcurl takes it for HTTP/0.9, which it refuses */
        attempt->outcome = SANDLOT_INTERNAL;
        reason = "the answer is not HTTP";
    } else if (code == CURLE_OUT_OF_MEMORY && attempt->arrived) { /* libcurl says the same of both */
        reason = "a header of the answer is too long, or there is not enough memory";
    }
    snprintf(attempt->fault, sizeof(attempt->fault), "%s", reason);
}

static void read_result(struct transfer *transfer)
{
    struct http_attempt *attempt = transfer->attempt;
    CURL *easy = transfer->connection->easy;
    curl_off_t number = 0;
    long connections = 0;
    long status = 0;
    char *redirect = NULL;

    if (curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &number) == CURLE_OK)
        attempt->arrived = number > 0;
    if (curl_easy_getinfo(easy, CURLINFO_SIZE_UPLOAD_T, &number) == CURLE_OK)
        attempt->sent = (uint64_t)number;
    if (curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &connections) == CURLE_OK)
        attempt->reused = attempt->arrived && connections == 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    attempt->status = (int)status;
    if (status >= 300 && status < 400 && curl_easy_getinfo(easy, CURLINFO_REDIRECT_URL, &redirect) == CURLE_OK &&
        redirect && attempt->may_redirect && !(attempt->redirect = strdup(redirect)))
        fault(transfer, SANDLOT_INTERNAL, "there is not enough memory to follow a redirect");
}

/* A call that is over already asks for nothing. */
static bool is_over(struct transfer *transfer)
{
    const struct http_attempt *attempt = transfer->attempt;
    const struct sandlot_call heard = http_listen(attempt->call, attempt->request);

    const int64_t deadline_ms = http_deadline(attempt->call, attempt->request, attempt->end_ms);

    if (sandlot_cancelled(&heard))
        fault(transfer, SANDLOT_CANCELLED, "it was cancelled");
    else if (deadline_ms != 0 && sandlot_now_ms() >= deadline_ms)
        fault(transfer, SANDLOT_TIMEOUT, "it was not done in time");
    return attempt->outcome != SANDLOT_OK;
}

static void perform(struct transfer *transfer)
{
    CURLM *multi = transfer->connection->multi;
    CURLcode code = CURLE_OK;
    int running = 1;
    int queued;

    if (is_over(transfer))
        return;
    if (curl_multi_add_handle(multi, transfer->connection->easy) != CURLM_OK) {
        fault(transfer, SANDLOT_INTERNAL, "there is not enough memory for a request");
        return;
    }
    while (curl_multi_perform(multi, &running) == CURLM_OK && running > 0 && wait_on(transfer))
        continue;
    for (CURLMsg *message; (message = curl_multi_info_read(multi, &queued));)
        if (message->msg == CURLMSG_DONE)
            code = message->data.result;
    read_result(transfer);
    conclude(transfer, code);
    curl_multi_remove_handle(multi, transfer->connection->easy);
}

void http_attempt_run(struct http_attempt *attempt)
{
    int64_t begin_ms = sandlot_now_ms();
    struct transfer transfer = {
        .attempt = attempt, .connection = http_connection_take(attempt->client), .moved_ms = begin_ms};

    attempt->headers.limit = HTTP_LONGEST_HEADERS;
    attempt->body.limit = attempt->request->limit ? attempt->request->limit : HTTP_DEFAULT_LIMIT;
    if (!transfer.connection) {
        fault(&transfer, SANDLOT_INTERNAL, "there is not enough memory for a connection");
        return;
    }
    if (set_up(&transfer))
        perform(&transfer);
    curl_easy_reset(transfer.connection->easy); /* nothing may point to what is freed now */
    curl_mime_free(transfer.form);
    curl_slist_free_all(transfer.headers);
    free(transfer.streams);
    /* After a failed name lookup, or of an URL that is none, libcurl 7.88 refuses the options of another request. And a
     * connection of HTTP/2, which outlives the request that was given up, may be what is dead. Where memory was short
     * its handle may refuse every request from then on. */
    if (attempt->broken || attempt->outcome == SANDLOT_TIMEOUT || attempt->outcome == SANDLOT_INTERNAL ||
        attempt->outcome == SANDLOT_INVALID_ARGUMENT)
        http_connection_free(transfer.connection);
    else
        http_connection_give_back(attempt->client, transfer.connection);
    attempt->duration_ms = sandlot_now_ms() - begin_ms;
}

void http_attempt_clear(struct http_attempt *attempt)
{
    free(attempt->redirect);
    sdk_buffer_clear(&attempt->headers);
    sdk_buffer_clear(&attempt->body);
    attempt->redirect = NULL;
}

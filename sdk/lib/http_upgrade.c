#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/http_upgrade.h>

#include "http_raw.h"
#include "http_upgrade.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum { BLOCK = 64 * 1024, LONGEST_WAIT_MS = 1000, READS_AT_ONCE = 16 };

struct http_upgrade {
    struct http_raw raw;
    bool closed;       /* our side: nothing more is sent */
    size_t length;     /* of what is to be sent, in `out` */
    size_t sent;       /* of that */
    char out[BLOCK];   /* of the input */
    char block[BLOCK]; /* what has come */
};

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static bool is_stream(const struct http_raw *raw, size_t head_length)
{
    int status = http_raw_status(raw->early.bytes);
    char chunks[32];
    char length[32];

    http_raw_header(raw->early.bytes, head_length, "Transfer-Encoding", chunks, sizeof(chunks));
    http_raw_header(raw->early.bytes, head_length, "Content-Length", length, sizeof(length));
    return status == 101 || (status == 200 && *chunks == '\0' && *length == '\0');
}

static char *make_head(const struct http_raw *raw, const struct http_upgrade_request *wanted, const char *url,
                       const struct curl_slist *headers)
{
    AUTO_FREE char *own =
        sdk_format("Connection: Upgrade\r\nUpgrade: %s\r\nContent-Length: %zu\r\n%s", wanted->protocol, wanted->length,
                   wanted->body ? "Content-Type: application/json\r\n" : "");

    return own ? http_raw_head(wanted->method, url, headers, raw->client->user_agent, own) : NULL;
}

static enum sandlot_status ask(struct sandlot_call *call, struct http_raw *raw,
                               const struct http_upgrade_request *wanted, const char *url)
{
    const struct http_request request = {
        .method = wanted->method, .target = wanted->target, .headers = wanted->headers, .never_repeat = true};
    enum sandlot_status status = SANDLOT_OK;
    struct curl_slist *headers = http_headers(call, raw->client, &request, url, &status);
    AUTO_FREE char *head = status == SANDLOT_OK ? make_head(raw, wanted, url, headers) : NULL;
    size_t head_length = 0;

    curl_slist_free_all(headers);
    if (!head)
        return status != SANDLOT_OK ? status : http_raw_fail(call, raw, SANDLOT_INTERNAL, "there is not enough memory");
    status = http_raw_exchange(call, raw, head, wanted->body, wanted->length, &head_length);
    if (status != SANDLOT_OK || is_stream(raw, head_length))
        return status;
    int answered = http_raw_status(raw->early.bytes);

    if (answered == 0 || answered == 200)
        return http_raw_fail(call, raw, SANDLOT_INTERNAL, "the answer is no stream");
    return http_raw_refuse(call, raw, &request, wanted->answer, url, answered, head_length);
}

enum sandlot_status http_upgrade_connect(struct sandlot_call *call, struct http_client *client, const char *url,
                                         const char *kind, struct http_upgrade **stream)
{
    struct http_upgrade *made = calloc(1, sizeof(*made));
    enum sandlot_status status = SANDLOT_OK;

    *stream = NULL;
    if (!made || !http_raw_init(&made->raw, client, kind, url))
        status =
            http_fail(call, client, SANDLOT_INTERNAL,
                      "a %s to %s could not be made: there is not enough memory; free some", kind, client->service);
    if (status == SANDLOT_OK)
        status = http_raw_connect(call, &made->raw, url);
    if (status == SANDLOT_OK)
        *stream = made;
    else
        http_upgrade_close(made);
    return status;
}

enum sandlot_status http_upgrade_send(struct sandlot_call *call, struct http_upgrade *stream, const char *bytes,
                                      size_t length)
{
    return http_raw_send_all(call, &stream->raw, bytes, length);
}

enum sandlot_status http_upgrade_open(struct sandlot_call *call, struct http_client *client,
                                      const struct http_upgrade_request *request, struct http_upgrade **stream)
{
    AUTO_FREE char *url = request->target ? http_absolute(client, request->target) : NULL;

    *stream = NULL;
    if (!request->target)
        return http_fail(call, client, SANDLOT_INVALID_ARGUMENT,
                         "a stream to %s could not be made: there is no address; check the id", client->service);
    enum sandlot_status status = http_upgrade_connect(call, client, url, "stream", stream);

    if (status == SANDLOT_OK)
        status = ask(call, &(*stream)->raw, request, url);
    if (status == SANDLOT_OK)
        return status;
    http_upgrade_close(*stream);
    *stream = NULL;
    return status;
}

void http_upgrade_close(struct http_upgrade *stream)
{
    if (!stream)
        return;
    http_raw_clear(&stream->raw);
    free(stream);
}

/* ---- traffic ----------------------------------------------------------------------------------------------------- */

/* libcurl cannot end one direction of TLS; servers take the end of the connection's for that. */
static void close_our_side(struct http_upgrade *stream, bool stays_open)
{
    if (!stream->closed && !stays_open)
        shutdown(stream->raw.fd, SHUT_WR);
    stream->closed = true;
}

static bool is_readable(int fd)
{
    struct pollfd ready = {fd, POLLIN, 0};

    return fd < 0 || poll(&ready, 1, 0) > 0;
}

/* Takes of the input what is there. */
static enum sandlot_status read_input(struct http_upgrade *stream, const struct http_upgrade_traffic *traffic)
{
    const struct sandlot_source *input = traffic->input;

    if (stream->closed || stream->sent < stream->length)
        return SANDLOT_OK;
    stream->sent = stream->length = 0;
    if (input && !is_readable(input->poll_fd))
        return SANDLOT_OK;
    enum sandlot_status status =
        input ? input->read(input, stream->out, sizeof(stream->out), &stream->length) : SANDLOT_OK;

    if (status == SANDLOT_OK && stream->length == 0)
        close_our_side(stream, traffic->stays_open);
    return status;
}

/* Sends of it what the connection takes. */
static void send_input(struct http_upgrade *stream)
{
    size_t sent = 0;

    if (stream->sent == stream->length)
        return;
    CURLcode code = http_raw_send(&stream->raw, stream->out + stream->sent, stream->length - stream->sent, &sent);

    stream->sent += sent;
    if (code == CURLE_OK || code == CURLE_AGAIN)
        return;
    stream->sent = stream->length = 0; /* nobody wants it any more; what is still to come tells why */
    stream->closed = true;
}

/* Passes on what has come. *ENDED: that was all. */
static enum sandlot_status pass_on(struct sandlot_call *call, struct http_upgrade *stream,
                                   const struct sandlot_sink *output, bool *ended, bool *more)
{
    *more = false;
    for (int i = 0; i < READS_AT_ONCE && !*ended; i++) {
        size_t length = 0;
        CURLcode code = http_raw_receive(&stream->raw, stream->block, sizeof(stream->block), &length);

        if (code == CURLE_AGAIN)
            return SANDLOT_OK;
        if (code != CURLE_OK)
            return http_raw_fail(call, &stream->raw, SANDLOT_UNAVAILABLE, "the connection has broken");
        *ended = length == 0;
        enum sandlot_status status = length > 0 ? output->write(output, stream->block, length) : SANDLOT_OK;

        if (status != SANDLOT_OK)
            return status;
    }
    *more = !*ended;
    return SANDLOT_OK;
}

static int64_t end_of(const struct http_upgrade_traffic *traffic)
{
    return traffic->end_ms ? *traffic->end_ms : 0;
}

static int wait_ms(const struct sandlot_call *call, int64_t end_ms, bool more)
{
    int left_ms = sandlot_remaining_ms(call, more ? 0 : LONGEST_WAIT_MS);
    int64_t until_end_ms = end_ms - sandlot_now_ms();

    if (end_ms != 0 && until_end_ms < left_ms)
        left_ms = until_end_ms > 0 ? (int)until_end_ms : 0;
    return left_ms;
}

/* Waits for whatever there is to do. */
static enum sandlot_status wait_for_traffic(struct sandlot_call *call, const struct http_upgrade *stream,
                                            const struct http_upgrade_traffic *traffic, bool more)
{
    bool sends = stream->sent < stream->length;
    bool reads = !stream->closed && !sends && traffic->input;
    struct pollfd fds[] = {{stream->raw.fd, (short)(POLLIN | (sends ? POLLOUT : 0)), 0},
                           {call->cancel_fd, POLLIN, 0},
                           {reads ? traffic->input->poll_fd : -1, POLLIN, 0},
                           {traffic->wake_fd, POLLIN, 0}};

    poll(fds, sizeof(fds) / sizeof(*fds), wait_ms(call, end_of(traffic), more || (reads && fds[2].fd < 0)));
    if (fds[1].revents)
        return SANDLOT_CANCELLED;
    if (call->deadline_ms != 0 && sandlot_now_ms() >= call->deadline_ms)
        return SANDLOT_TIMEOUT;
    return SANDLOT_OK;
}

static enum sandlot_status wake(const struct http_upgrade_traffic *traffic)
{
    return traffic->wake_fd >= 0 && is_readable(traffic->wake_fd) ? traffic->wake(traffic->context) : SANDLOT_OK;
}

enum sandlot_status http_upgrade_carry(struct sandlot_call *call, struct http_upgrade *stream,
                                       const struct http_upgrade_traffic *traffic)
{
    bool ended = false;

    for (;;) {
        bool more;
        enum sandlot_status status = pass_on(call, stream, traffic->output, &ended, &more);

        if (status != SANDLOT_OK || ended)
            return status;
        if (end_of(traffic) != 0 && sandlot_now_ms() >= end_of(traffic))
            return SANDLOT_TIMEOUT;
        status = read_input(stream, traffic);
        send_input(stream);
        if (status == SANDLOT_OK)
            status = wake(traffic);
        if (status != SANDLOT_OK)
            return status;
        status = wait_for_traffic(call, stream, traffic, more);
        if (status != SANDLOT_OK)
            return http_raw_fail_wait(call, &stream->raw, status);
    }
}

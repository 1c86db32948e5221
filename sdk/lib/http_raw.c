/* TLS, proxies and names are libcurl's, through a handle that only connects; the rest of HTTP stands here. */
#include "http_raw.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/timestamp.h>

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LONGEST_WAIT_MS = 1000, LAST_WORDS_MS = 2000 };

bool http_raw_init(struct http_raw *raw, struct http_client *client, const char *kind, const char *url)
{
    raw->client = client;
    raw->kind = kind;
    raw->fd = -1;
    raw->early.limit = HTTP_LONGEST_ERROR_BODY;
    raw->shown = url ? http_shown_url(url, false) : NULL;
    raw->connection = http_connection_new(); /* never a kept one: this takes it over, and others need it */
    return raw->shown && raw->connection;
}

void http_raw_clear(struct http_raw *raw)
{
    /* The connection has been taken over from HTTP: it cannot be given back. */
    if (raw->connection)
        curl_multi_remove_handle(raw->connection->multi, raw->connection->easy);
    http_connection_free(raw->connection);
    sdk_buffer_clear(&raw->early);
    free(raw->shown);
}

/* ---- waiting and failing ----------------------------------------------------------------------------------------- */

enum sandlot_status http_raw_fail(struct sandlot_call *call, struct http_raw *raw, enum sandlot_status status,
                                  const char *what)
{
    return http_fail(call, raw->client, status, "the %s to %s at %s failed: %s; %s", raw->kind, raw->client->service,
                     raw->shown, what,
                     status == SANDLOT_INTERNAL    ? "report it to the author of the provider"
                     : status == SANDLOT_CANCELLED ? "try again if that was not meant"
                                                   : "try again");
}

enum sandlot_status http_raw_fail_wait(struct sandlot_call *call, struct http_raw *raw, enum sandlot_status status)
{
    return http_raw_fail(call, raw, status,
                         status == SANDLOT_CANCELLED ? "it was cancelled" : "it was not done in time");
}

enum sandlot_status http_raw_wait(const struct sandlot_call *call, int fd, short events, int wake_fd)
{
    struct pollfd fds[] = {{fd, events, 0}, {call->cancel_fd, POLLIN, 0}, {wake_fd, POLLIN, 0}};
    int left_ms = sandlot_remaining_ms(call, LONGEST_WAIT_MS);

    if (sandlot_cancelled(call))
        return SANDLOT_CANCELLED;
    if (left_ms == 0)
        return SANDLOT_TIMEOUT;
    poll(fds, sizeof(fds) / sizeof(*fds), left_ms); /* poll(2) passes over negative descriptors */
    return fds[1].revents ? SANDLOT_CANCELLED : SANDLOT_OK;
}

/* ---- connecting -------------------------------------------------------------------------------------------------- */

static bool configure(struct http_raw *raw, const char *url)
{
    CURL *easy = raw->connection->easy;

    return http_configure(raw->client, easy, url) && curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HTTPPROXYTUNNEL, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, raw->fault) == CURLE_OK &&
           curl_multi_add_handle(raw->connection->multi, easy) == CURLM_OK;
}

enum sandlot_status http_raw_connect(struct sandlot_call *call, struct http_raw *raw, const char *url)
{
    CURLcode code = CURLE_OK;
    int running = 1;
    int queued;

    if (!configure(raw, url))
        return http_raw_fail(call, raw, SANDLOT_INTERNAL, "there is not enough memory");
    while (curl_multi_perform(raw->connection->multi, &running) == CURLM_OK && running > 0) {
        enum sandlot_status status =
            http_wait(call, raw->connection->multi, -1, 0, attempt_deadline(call), LONGEST_WAIT_MS);

        if (status != SANDLOT_OK)
            return http_raw_fail_wait(call, raw, status);
    }
    for (CURLMsg *message; (message = curl_multi_info_read(raw->connection->multi, &queued));)
        code = message->data.result;
    if (code != CURLE_OK)
        return http_raw_fail(call, raw, SANDLOT_UNAVAILABLE, *raw->fault ? raw->fault : curl_easy_strerror(code));
    curl_easy_getinfo(raw->connection->easy, CURLINFO_ACTIVESOCKET, &raw->fd);
    return SANDLOT_OK;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

CURLcode http_raw_receive(struct http_raw *raw, void *buffer, size_t capacity, size_t *length)
{
    size_t left = raw->early.length - raw->early_read;

    *length = left < capacity ? left : capacity;
    if (left == 0)
        return curl_easy_recv(raw->connection->easy, buffer, capacity, length);
    memcpy(buffer, raw->early.bytes + raw->early_read, *length);
    raw->early_read += *length;
    return CURLE_OK;
}

CURLcode http_raw_send(struct http_raw *raw, const void *bytes, size_t length, size_t *sent)
{
    *sent = 0;
    return curl_easy_send(raw->connection->easy, bytes, length, sent);
}

enum sandlot_status http_raw_send_all(struct sandlot_call *call, struct http_raw *raw, const char *bytes, size_t length)
{
    for (size_t sent; length > 0;) {
        CURLcode code = http_raw_send(raw, bytes, length, &sent);

        if (code == CURLE_OK) {
            bytes += sent;
            length -= sent;
            continue;
        }
        enum sandlot_status status =
            code == CURLE_AGAIN ? http_raw_wait(call, raw->fd, POLLOUT, -1) : SANDLOT_UNAVAILABLE;

        if (code != CURLE_AGAIN)
            return http_raw_fail(call, raw, status, curl_easy_strerror(code));
        if (status != SANDLOT_OK)
            return http_raw_fail_wait(call, raw, status);
    }
    return SANDLOT_OK;
}

/* Reads more of the answer into `early`. SANDLOT_UNAVAILABLE: nothing more comes; SANDLOT_INTERNAL: it is too long. */
static enum sandlot_status read_more(const struct sandlot_call *call, struct http_raw *raw)
{
    char block[4096];
    size_t length = 0;
    CURLcode code;

    while ((code = curl_easy_recv(raw->connection->easy, block, sizeof(block), &length)) == CURLE_AGAIN) {
        enum sandlot_status status = http_raw_wait(call, raw->fd, POLLIN, -1);

        if (status != SANDLOT_OK)
            return status;
    }
    if (code != CURLE_OK || length == 0)
        return SANDLOT_UNAVAILABLE;
    return sdk_buffer_add(&raw->early, block, length) == SDK_GROWN ? SANDLOT_OK : SANDLOT_INTERNAL;
}

/* ---- the request and its answer ---------------------------------------------------------------------------------- */

/* The lines of HEADERS in the form of HTTP. */
static bool add_headers(struct sdk_buffer *text, const struct curl_slist *headers)
{
    for (; headers; headers = headers->next) {
        const char *line = headers->data;
        size_t name = strcspn(line, ":;");

        if (line[name] == ':' && line[name + 1] == '\0')
            continue; /* to libcurl: leave this header out */
        if (sdk_buffer_add(text, line, name) != SDK_GROWN || sdk_buffer_add(text, ":", 1) != SDK_GROWN ||
            sdk_buffer_add(text, line + name + 1, strlen(line + name + 1)) != SDK_GROWN ||
            sdk_buffer_add(text, "\r\n", 2) != SDK_GROWN)
            return false;
    }
    return true;
}

char *http_raw_head(const char *method, const char *url, const struct curl_slist *headers, const char *user_agent,
                    const char *own)
{
    const char *host = strstr(url, "://");

    host = host ? host + 3 : url;
    size_t authority = strcspn(host, "/?#");
    const char *path = host + authority;
    const char *user = memrchr(host, '@', authority);

    if (user) {
        authority -= (size_t)(user + 1 - host);
        host = user + 1;
    }
    AUTO_FREE char *first =
        sdk_format("%s %s%.*s HTTP/1.1\r\nHost: %.*s\r\nUser-Agent: %s\r\n%s", method, *path == '/' ? "" : "/",
                   (int)strcspn(path, "#"), path, (int)authority, host, user_agent, own);
    struct sdk_buffer text = {.limit = SIZE_MAX / 4};

    if (first && sdk_buffer_add(&text, first, strlen(first)) == SDK_GROWN && add_headers(&text, headers) &&
        sdk_buffer_add(&text, "\r\n", 2) == SDK_GROWN)
        return sdk_buffer_take(&text);
    sdk_buffer_clear(&text);
    return NULL;
}

static enum sandlot_status read_head(struct sandlot_call *call, struct http_raw *raw, size_t *head_length)
{
    for (;;) {
        enum sandlot_status status = read_more(call, raw);

        if (status == SANDLOT_UNAVAILABLE)
            return http_raw_fail(call, raw, status, "the connection was closed during the handshake");
        if (status == SANDLOT_INTERNAL)
            return http_raw_fail(call, raw, status, "the answer to the handshake is too long");
        if (status != SANDLOT_OK)
            return http_raw_fail_wait(call, raw, status);
        const char *bytes = raw->early.bytes;
        const char *end = bytes ? memmem(bytes, raw->early.length, "\r\n\r\n", 4) : NULL;

        if (end) {
            *head_length = (size_t)(end - bytes) + 4;
            return SANDLOT_OK;
        }
    }
}

enum sandlot_status http_raw_exchange(struct sandlot_call *call, struct http_raw *raw, const char *head,
                                      const void *body, size_t length, size_t *head_length)
{
    enum sandlot_status status = http_raw_send_all(call, raw, head, strlen(head));

    if (status == SANDLOT_OK && length > 0)
        status = http_raw_send_all(call, raw, body, length);
    if (status == SANDLOT_OK)
        status = read_head(call, raw, head_length);
    raw->early_read = status == SANDLOT_OK ? *head_length : 0;
    return status;
}

int http_raw_status(const char *head)
{
    return strncmp(head, "HTTP/1.", 7) == 0 && head[7] && head[8] == ' ' ? atoi(head + 9) : 0;
}

void http_raw_header(const char *head, size_t length, const char *name, char *value, size_t capacity)
{
    const char *end = head + length;

    *value = '\0';
    for (const char *line = head; line < end;) {
        const char *stop = memchr(line, '\r', (size_t)(end - line));
        size_t size = (size_t)((stop ? stop : end) - line);
        size_t name_length = strlen(name);

        if (size > name_length && strncasecmp(line, name, name_length) == 0 && line[name_length] == ':')
            sdk_one_line(value, capacity, line + name_length + 1, size - name_length - 1);
        line = stop ? stop + 2 : end;
    }
}

/* How many bytes the head announces behind itself; 0 if it does not say. */
static size_t body_length(const struct http_raw *raw, size_t head_length)
{
    char value[32];

    http_raw_header(raw->early.bytes, head_length, "Content-Length", value, sizeof(value));
    return strtoul(value, NULL, 10);
}

/* What the other side has answered with, of which nothing is to be freed. */
static struct http_response answer_of(const struct http_raw *raw, const char *url, int status, size_t head_length)
{
    return (struct http_response){
        .status = status,
        .body = raw->early.bytes + head_length,
        .length = status == 101 ? 0 : raw->early.length - head_length,
        .headers = raw->early.bytes,
        .headers_length = head_length,
        .url = (char *)url,
        .attempts = 1,
        .retry_ms = http_retry_after(raw->early.bytes, head_length, timestamp_now()),
    };
}

/* LENGTH bytes with a NUL after them, to be freed. */
static char *copy(const char *bytes, size_t length)
{
    char *made = malloc(length + 1);

    if (made) {
        memcpy(made, bytes, length);
        made[length] = '\0';
    }
    return made;
}

bool http_raw_hand_over(const struct http_raw *raw, const char *url, int status, size_t head_length,
                        struct http_response *answer)
{
    if (!answer)
        return true;
    *answer = answer_of(raw, url, status, head_length);
    answer->body = copy(answer->body, answer->length);
    answer->headers = copy(answer->headers, answer->headers_length);
    answer->url = strdup(url);
    return answer->body && answer->headers && answer->url;
}

/* The body of a refusal is worth a short wait. */
enum sandlot_status http_raw_refuse(struct sandlot_call *call, struct http_raw *raw, const struct http_request *request,
                                    struct http_response *answer, const char *url, int status, size_t head_length)
{
    struct sandlot_call patience = *call;
    int64_t end_ms = sandlot_now_ms() + LAST_WORDS_MS;
    size_t whole = head_length + body_length(raw, head_length);

    patience.deadline_ms = call->deadline_ms != 0 && call->deadline_ms < end_ms ? call->deadline_ms : end_ms;
    while (raw->early.length < whole && read_more(&patience, raw) == SANDLOT_OK)
        continue;
    const struct http_response response = answer_of(raw, url, status, head_length);

    http_raw_hand_over(raw, url, status, head_length,
                       answer); /* what is missing of it is missed less than the reason */
    return http_response_fail(call, raw->client, request, &response);
}

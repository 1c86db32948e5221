#include "api.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/credentials.h>
#include <sandlot/sdk/text_format.h>
#include <string.h>

enum { MOST_HEADERS = 32 };

static const char service[] = "Runloop";
static const char default_url[] = "https://api.runloop.ai";
static const char key_name[] = "RUNLOOP_API_KEY";

/* ---- the client -------------------------------------------------------------------------------------------------- */

static const char *base_url(struct sandlot_call *call, const struct runloop *runloop)
{
    const char *url = parameter_or_variable(call, runloop->parameters.base_url, "RUNLOOP_BASE_URL");

    return url ? url : default_url;
}

/* Takes TEXT, one header a line, apart in place. */
static void split_headers(char *text, const char *headers[MOST_HEADERS + 1])
{
    char *rest = NULL;
    size_t count = 0;

    for (char *line = strtok_r(text, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
        line += strspn(line, " \t");
        if (strchr(line, ':') && *line != ':' && count < MOST_HEADERS)
            headers[count++] = line;
    }
    headers[count] = NULL;
}

static enum sandlot_status open_client(struct sandlot_call *call, void *context, const char *url, void **client)
{
    struct http_client *made = NULL;
    const char *custom = call->host->environment(call, "RUNLOOP_CUSTOM_HEADERS");
    AUTO_FREE char *text = strdup(custom ? custom : "");
    const char *headers[MOST_HEADERS + 1];

    (void)context;
    if (!text)
        return http_no_memory(call);
    split_headers(text, headers);
    static const int repeated[] = {408, 409, 500, 0}; /* as Runloop's own clients do */
    const struct http_options options = {.service = service,
                                         .base_url = url,
                                         .headers = headers,
                                         .repeated = repeated,
                                         .repeat_header = "x-should-retry"};
    enum sandlot_status status = credential_open_client(call, key_name, options, &made);

    *client = made;
    return status;
}

void api_init(struct runloop *runloop, const struct parameters *parameters)
{
    runloop->parameters = *parameters;
    runloop->cannot_await = false;
    clients_init(&runloop->clients, NULL, open_client, clients_close_http);
}

void api_clear(struct runloop *runloop)
{
    clients_clear(&runloop->clients);
}

enum sandlot_status api_client(struct sandlot_call *call, struct runloop *runloop, struct http_client **client)
{
    return clients_get(call, &runloop->clients, base_url(call, runloop), client);
}

/* As Runloop's own clients find it. */
char *api_tunnels(struct sandlot_call *call, const struct runloop *runloop)
{
    const char *said = runloop->parameters.tunnel_url;
    const char *url = base_url(call, runloop);
    const char *scheme = strstr(url, "://");
    const char *host = scheme ? scheme + 3 : url;
    const char *password = memchr(host, '@', strcspn(host, "/"));

    if (said && *said)
        return strdup(said);
    host = password ? password + 1 : host;
    host += strncmp(host, "api.", 4) == 0 ? 4 : 0;
    return text_format("https://tunnel.%.*s", (int)strcspn(host, ":/?#"), host);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

enum sandlot_status api_send(struct sandlot_call *call, struct runloop *runloop, const struct http_request *request,
                             const char *id, struct http_response *response, struct json_object **answer)
{
    char id_header[16 + RANDOM_UUID_SIZE];
    char own_id[RANDOM_UUID_SIZE];
    bool special = request->headers && request->headers[0]; /* at most one: which answer is wanted */
    const char *const headers[] = {id_header, special ? request->headers[0] : "Accept: application/json", NULL};
    struct http_request sent = *request;
    struct http_client *client;
    struct json_error error;
    enum sandlot_status status = api_client(call, runloop, &client);

    *answer = NULL;
    if (status != SANDLOT_OK)
        return status;
    if (!id)
        random_uuid_by_time(own_id);
    snprintf(id_header, sizeof(id_header), "x-request-id: %s", id ? id : own_id);
    sent.headers = strcmp(request->method, "GET") == 0 ? headers + 1 : headers;
    status = http_send(call, client, &sent, response);
    if (status != SANDLOT_OK || response->status < 200 || response->status > 299 || response->length == 0)
        return status;
    *answer = json_read_document(response->body, response->length, &error);
    return *answer ? SANDLOT_OK : json_fail(call, "Runloop's answer", &error);
}

enum sandlot_status api_send_order(struct sandlot_call *call, struct runloop *runloop, const struct api_order *order,
                                   int *code, struct json_object **answer)
{
    AUTO_FREE char *target = order->target;
    AUTO_FREE char *body = order->body;
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *document = NULL;
    const struct http_request request = {.method = order->method,
                                         .target = target,
                                         .body = {.bytes = body, .length = body ? strlen(body) : 0},
                                         .accepted = order->accepted,
                                         .silence_ms = order->silence_ms,
                                         .repeatable = true};
    enum sandlot_status status = api_send(call, runloop, &request, NULL, &response, &document);

    if (code)
        *code = response.status;
    if (answer)
        *answer = json_object_get(document);
    return status;
}

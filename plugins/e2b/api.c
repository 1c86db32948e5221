#include "api.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/clients.h>
#include <sandlot/sdk/credentials.h>
#include <sandlot/sdk/network.h>

#include <string.h>

enum { ATTEMPTS = 5 };

static const char default_domain[] = "e2b.app";

void api_init(struct e2b *e2b, const struct parameters *parameters)
{
    *e2b = (struct e2b){.parameters = *parameters};
    pthread_mutex_init(&e2b->lock, NULL);
}

void api_clear(struct e2b *e2b)
{
    http_client_close(e2b->control);
    http_client_close(e2b->daemons);
    pthread_mutex_destroy(&e2b->lock);
}

/* ---- keys and addresses ------------------------------------------------------------------------------------------ */

/* Either key is sent if it is there: which of them a server takes for what, it knows best. */
static enum sandlot_status open_control(struct sandlot_call *call, struct e2b *e2b, const char *base_url)
{
    static const int repeated[] = {409, 500, 0}; /* 409: it is in the middle of another change */
    const char *key = credential_find(call, "E2B_API_KEY", NULL);
    AUTO_FREE char *key_from = credential_source(call, E2B_CREDENTIALS);
    AUTO_FREE char *line = NULL;
    const char *found;
    enum sandlot_status status = credential_require(call, E2B_SERVICE, E2B_CREDENTIALS, &found);

    if (status != SANDLOT_OK)
        return status;
    if (key && asprintf(&line, "X-API-Key: %s", key) < 0)
        return http_no_memory(call);
    const char *const headers[] = {"Accept: application/json", line, NULL};
    const struct http_options options = {.service = E2B_SERVICE,
                                         .base_url = base_url,
                                         .headers = headers,
                                         .bearer = credential_find(call, "E2B_ACCESS_TOKEN", NULL),
                                         .repeated = repeated,
                                         .attempts = ATTEMPTS,
                                         .key_from = key_from};

    return http_client_open(call, &options, &e2b->control);
}

static enum sandlot_status open_clients(struct sandlot_call *call, void *context)
{
    static const int moving[] = {409, 0}; /* the sandbox is being paused or woken, which takes a moment */
    struct e2b *e2b = context;
    const char *domain = parameter_or_variable(call, e2b->parameters.domain, "E2B_DOMAIN");
    const char *address = parameter_or_variable(call, e2b->parameters.base_url, "E2B_API_URL");
    AUTO_FREE char *made = NULL;

    e2b->domain = domain ? domain : default_domain;
    e2b->is_plain = address && strncmp(address, "http://", strlen("http://")) == 0;
    e2b->sandbox_url = parameter_or_variable(call, e2b->parameters.sandbox_url, "E2B_SANDBOX_URL");
    if (!address && asprintf(&made, "https://api.%s", e2b->domain) < 0)
        return http_no_memory(call);
    const struct http_options options = {
        .service = "E2B's sandbox", .base_url = address ? address : made, .repeated = moving};
    enum sandlot_status status = e2b->daemons ? SANDLOT_OK : http_client_open(call, &options, &e2b->daemons);

    return status == SANDLOT_OK ? open_control(call, e2b, options.base_url) : status;
}

static enum sandlot_status open_once(struct sandlot_call *call, struct e2b *e2b)
{
    return clients_open_once(call, &e2b->lock, &e2b->control, open_clients, e2b);
}

enum sandlot_status api_hide(struct sandlot_call *call, struct e2b *e2b, const struct sandlot_network *network)
{
    enum sandlot_status status = network ? open_once(call, e2b) : SANDLOT_OK;

    if (status == SANDLOT_OK)
        network_hide(network, http_client_add_secret, e2b->control);
    return status;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

enum sandlot_status api_send(struct sandlot_call *call, struct e2b *e2b, const struct api_request *request,
                             struct http_response *response, struct json_object **answer)
{
    const struct rest_request sent = {.method = request->method,
                                      .target = http_target(request->pattern, request->id),
                                      .body = request->body,
                                      .repeatable = request->repeatable,
                                      .accepted = request->accepted,
                                      .answered = true};

    if (request->id && strstr(request->pattern, "sandboxes/{}") && !api_is_id(request->id))
        return rest_drop(&sent,
                         sandlot_fail(call, SANDLOT_NOT_FOUND,
                                      "E2B has no sandbox '%.128s': its ids are lower-case letters and digits; check "
                                      "the id",
                                      request->id));
    enum sandlot_status status = open_once(call, e2b);

    return status == SANDLOT_OK ? rest_send(call, e2b->control, &sent, response, answer) : rest_drop(&sent, status);
}

enum sandlot_status api_list(struct sandlot_call *call, struct e2b *e2b, const char *path, const char *cursor,
                             const struct sandlot_listing *listing, const struct rest_entry *entry)
{
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    AUTO_FREE char *next_page = NULL;

    if (asprintf(&next_page, "%s&nextToken={}", path) < 0)
        return http_no_memory(call);
    const struct api_request request = {.method = "GET", .pattern = cursor ? next_page : path, .id = cursor};
    enum sandlot_status status = api_send(call, e2b, &request, &response, &answer);

    return status == SANDLOT_OK
               ? rest_list_entries(call, listing, answer, http_header(&response, "X-Next-Token"), entry)
               : status;
}

/* ---- what answers mean ------------------------------------------------------------------------------------------- */

bool api_is_id(const char *id)
{
    size_t first = strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789");
    const char *rest = id + first + (id[first] == '-');

    return first > 0 && strlen(id) < 128 && strspn(rest, "abcdefghijklmnopqrstuvwxyz0123456789") == strlen(rest) &&
           (id[first] == '\0' || *rest);
}

/* Who does not know it may name its path, which has "sandboxes" in it. */
bool api_is_unknown_request(const struct http_response *response)
{
    return response->status == 405 ||
           (response->status == 404 && (http_mentions(response, "/v2/") ||
                                        (!http_mentions(response, "sandbox") && !http_mentions(response, "template"))));
}

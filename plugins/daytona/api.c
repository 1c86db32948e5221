#include "api.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/credentials.h>
#include <sandlot/sdk/pause.h>
#include <string.h>

enum { LONGEST_PAUSE_MS = 1000, SAID = 512 };

static const char service[] = "Daytona";
static const char default_url[] = "https://app.daytona.io/api";
static const char key_names[] = "DAYTONA_API_KEY|DAYTONA_JWT_TOKEN";

enum sandlot_status api_no_memory(struct sandlot_call *call)
{
    return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for a request to Daytona; free some");
}

/* ---- the clients ---------------------------------------------------------------------------------------------- */

static const char *base_url(struct sandlot_call *call, const struct daytona *daytona)
{
    const char *url = daytona->base_url;

    url = url && *url ? url : call->host->environment(call, "DAYTONA_API_URL");
    url = url ? url : call->host->environment(call, "DAYTONA_SERVER_URL");
    return url ? url : default_url;
}

/* A token of a person may belong to several organizations and has to say which; a key belongs to one. *HEADER is to be
 * freed. */
static enum sandlot_status organization(struct sandlot_call *call, const char *name, char **header)
{
    if (strncmp(name, "DAYTONA_API_KEY", strlen("DAYTONA_API_KEY")) == 0)
        return SANDLOT_OK;
    const char *id = call->host->environment(call, "DAYTONA_ORGANIZATION_ID");

    if (!id)
        return sandlot_fail(call, SANDLOT_AUTH,
                            "DAYTONA_JWT_TOKEN does not say which organization is meant; set DAYTONA_ORGANIZATION_ID, "
                            "or use a DAYTONA_API_KEY");
    return asprintf(header, "X-Daytona-Organization-ID: %s", id) < 0 ? api_no_memory(call) : SANDLOT_OK;
}

static enum sandlot_status open_client(struct sandlot_call *call, const char *url, struct http_client **client)
{
    AUTO_FREE char *header = NULL;
    const char *key;
    const char *name = key_names;
    enum sandlot_status status = credential_require(call, service, key_names, &key);

    if (status != SANDLOT_OK)
        return status;
    credential_find(call, key_names, &name);
    status = organization(call, name, &header);
    /* No X-Daytona-SDK-Version: it would change the form of the toolbox's answers. */
    const char *const headers[] = {"X-Daytona-Source: sandlot", header, NULL};
    const struct http_options options = {.service = service, .base_url = url, .bearer = key, .headers = headers};

    return status == SANDLOT_OK ? http_client_open(call, &options, client) : status;
}

enum sandlot_status api_client(struct sandlot_call *call, struct daytona *daytona, struct http_client **client)
{
    enum sandlot_status status = SANDLOT_OK;

    pthread_mutex_lock(&daytona->lock);
    if (!daytona->api)
        status = open_client(call, base_url(call, daytona), &daytona->api);
    *client = daytona->api;
    pthread_mutex_unlock(&daytona->lock);
    return status;
}

/* The key goes to where the API says that the sandbox is, but never from a connection that is safe to one that is not.
 */
static enum sandlot_status check_proxy(struct sandlot_call *call, const struct daytona *daytona, const char *url)
{
    if (strncmp(url, "https://", 8) == 0 ||
        (strncmp(url, "http://", 7) == 0 && strncmp(base_url(call, daytona), "https://", 8) != 0))
        return SANDLOT_OK;
    return sandlot_fail(call, SANDLOT_INTERNAL,
                        "Daytona says that the sandbox is reached at \"%.200s\", which is no https address, and the "
                        "key must not be sent there; check the address of the API",
                        url);
}

/* URL without the slashes at its end. */
static size_t trimmed_length(const char *url)
{
    size_t length = strlen(url);

    while (length > 0 && url[length - 1] == '/')
        length--;
    return length;
}

static struct toolbox *find_toolbox(struct toolbox *toolbox, const char *url, size_t length)
{
    while (toolbox && (strncmp(toolbox->url, url, length) != 0 || toolbox->url[length]))
        toolbox = toolbox->next;
    return toolbox;
}

/* NULL with *STATUS if that fails. */
static struct toolbox *open_toolbox(struct sandlot_call *call, const struct daytona *daytona, const char *proxy_url,
                                    size_t length, enum sandlot_status *status)
{
    struct toolbox *toolbox = calloc(1, sizeof(*toolbox));

    if (toolbox)
        toolbox->url = strndup(proxy_url, length);
    if (!toolbox || !toolbox->url) {
        free(toolbox);
        *status = api_no_memory(call);
        return NULL;
    }
    *status = check_proxy(call, daytona, toolbox->url);
    if (*status == SANDLOT_OK)
        *status = open_client(call, toolbox->url, &toolbox->client);
    if (*status == SANDLOT_OK)
        return toolbox;
    free(toolbox->url);
    free(toolbox);
    return NULL;
}

enum sandlot_status api_toolbox(struct sandlot_call *call, struct daytona *daytona, const char *proxy_url,
                                struct http_client **client)
{
    size_t length = trimmed_length(proxy_url);
    enum sandlot_status status = SANDLOT_OK;

    pthread_mutex_lock(&daytona->lock);
    struct toolbox *toolbox = find_toolbox(daytona->toolboxes, proxy_url, length);

    if (!toolbox) {
        toolbox = open_toolbox(call, daytona, proxy_url, length, &status);
        if (toolbox) {
            toolbox->next = daytona->toolboxes;
            daytona->toolboxes = toolbox;
        }
    }
    *client = toolbox ? toolbox->client : NULL;
    pthread_mutex_unlock(&daytona->lock);
    return status;
}

void api_clear(struct daytona *daytona)
{
    http_client_close(daytona->api);
    while (daytona->toolboxes) {
        struct toolbox *toolbox = daytona->toolboxes;

        daytona->toolboxes = toolbox->next;
        http_client_close(toolbox->client);
        free(toolbox->url);
        free(toolbox);
    }
    pthread_mutex_destroy(&daytona->lock);
}

/* ---- requests ------------------------------------------------------------------------------------------------- */

enum sandlot_status api_send(struct sandlot_call *call, struct daytona *daytona, const struct http_request *request,
                             struct http_response *response, struct json_object **answer)
{
    struct http_client *client;
    struct json_error error;
    enum sandlot_status status = api_client(call, daytona, &client);

    *answer = NULL;
    if (status == SANDLOT_OK)
        status = http_send(call, client, request, response);
    if (status != SANDLOT_OK || response->status < 200 || response->status > 299 || response->length == 0)
        return status;
    *answer = json_read_document(response->body, response->length, &error);
    return *answer ? SANDLOT_OK : json_fail(call, "Daytona's answer", &error);
}

enum sandlot_status api_order(struct sandlot_call *call, struct daytona *daytona, const char *method, char *target,
                              const int *accepted, int *status, struct json_object **answer)
{
    AUTO_FREE char *owned = target;
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *document = NULL;
    const struct http_request request = {.method = method,
                                         .target = owned,
                                         .accepted = accepted,
                                         .repeatable = true}; /* what is ordered here is a state, not a step */
    enum sandlot_status sent = api_send(call, daytona, &request, &response, &document);

    if (status)
        *status = response.status;
    if (answer)
        *answer = json_object_get(document);
    return sent;
}

enum sandlot_status api_pause(struct sandlot_call *call, int *pause_ms)
{
    return pause_longer(call, "Daytona", pause_ms, LONGEST_PAUSE_MS);
}

bool api_mentions(const struct http_response *response, const char *word)
{
    char said[SAID];

    http_error_text(response->body, response->length, said, sizeof(said));
    return strcasestr(said, word);
}

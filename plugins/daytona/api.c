#include "api.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/credentials.h>
#include <string.h>

static const char service[] = "Daytona";
static const char default_url[] = "https://app.daytona.io/api";
static const char key_names[] = "DAYTONA_API_KEY|DAYTONA_JWT_TOKEN";

/* ---- the clients ---------------------------------------------------------------------------------------------- */

static const char *base_url(struct sandlot_call *call, const struct daytona *daytona)
{
    const char *url = parameter_or_variable(call, daytona->parameters.base_url, "DAYTONA_API_URL");

    url = url ? url : call->host->environment(call, "DAYTONA_SERVER_URL");
    return url ? url : default_url;
}

bool api_is_own_server(struct sandlot_call *call, const struct daytona *daytona)
{
    const char *url = base_url(call, daytona);
    size_t length = strlen(default_url);

    return strncmp(url, default_url, length) != 0 || (url[length] && strcmp(url + length, "/") != 0);
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
    return asprintf(header, "X-Daytona-Organization-ID: %s", id) < 0 ? http_no_memory(call) : SANDLOT_OK;
}

static enum sandlot_status open_client(struct sandlot_call *call, void *context, const char *url, void **client)
{
    struct http_client *made = NULL;

    AUTO_FREE char *header = NULL;
    const char *name = key_names;

    (void)context;
    credential_find(call, key_names, &name);
    enum sandlot_status status = organization(call, name, &header);
    /* No X-Daytona-SDK-Version: it would change the form of the toolbox's answers. */
    const char *const headers[] = {"X-Daytona-Source: sandlot", header, NULL};
    const struct http_options options = {.service = service, .base_url = url, .headers = headers};

    if (status == SANDLOT_OK)
        status = credential_open_client(call, key_names, options, &made);
    *client = made;
    return status;
}

void api_init(struct daytona *daytona, const struct parameters *parameters)
{
    daytona->parameters = *parameters;
    clients_init(&daytona->clients, NULL, open_client, clients_close_http);
}

void api_clear(struct daytona *daytona)
{
    clients_clear(&daytona->clients);
}

enum sandlot_status api_client(struct sandlot_call *call, struct daytona *daytona, struct http_client **client)
{
    return clients_get(call, &daytona->clients, base_url(call, daytona), client);
}

/* The key goes to where the API says that the sandbox is, but never from a connection that is safe to one that is not.
 */
enum sandlot_status api_toolbox(struct sandlot_call *call, struct daytona *daytona, const char *proxy_url,
                                struct http_client **client)
{
    if (clients_are_as_safe(base_url(call, daytona), proxy_url))
        return clients_get(call, &daytona->clients, proxy_url, client);
    return sandlot_fail(call, SANDLOT_INTERNAL,
                        "Daytona says that the sandbox is reached at \"%.200s\", which is no https address, and the "
                        "key must not be sent there; check the address of the API",
                        proxy_url);
}

/* ---- requests ------------------------------------------------------------------------------------------------- */

enum sandlot_status api_send(struct sandlot_call *call, struct daytona *daytona, const struct rest_request *request,
                             struct http_response *response, struct json_object **answer)
{
    struct http_client *client;
    enum sandlot_status status = api_client(call, daytona, &client);

    return status == SANDLOT_OK ? rest_send(call, client, request, response, answer) : rest_drop(request, status);
}

enum sandlot_status api_order(struct sandlot_call *call, struct daytona *daytona, const char *method, char *target,
                              const int *accepted, int *status, struct json_object **answer)
{
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *unwanted = NULL;
    const struct rest_request request = {.method = method,
                                         .target = target,
                                         .accepted = accepted,
                                         .repeatable = true}; /* what is ordered here is a state, not a step */
    enum sandlot_status sent = api_send(call, daytona, &request, &response, answer ? answer : &unwanted);

    if (status)
        *status = response.status;
    return sent;
}

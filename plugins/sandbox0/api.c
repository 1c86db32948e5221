#include "api.h"

#include <sandlot/sdk/clients.h>
#include <sandlot/sdk/credentials.h>

enum { LONGEST_ANSWER = 64 << 20 };

void api_init(struct sandbox0 *sandbox0, const struct parameters *parameters)
{
    *sandbox0 = (struct sandbox0){.parameters = *parameters};
    pthread_mutex_init(&sandbox0->lock, NULL);
}

void api_clear(struct sandbox0 *sandbox0)
{
    http_client_close(sandbox0->client);
    pthread_mutex_destroy(&sandbox0->lock);
}

static enum sandlot_status open_client(struct sandlot_call *call, void *context)
{
    struct sandbox0 *sandbox0 = context;
    const struct parameters *parameters = &sandbox0->parameters;
    const char *url = parameter_or_variable(call, parameters->base_url, "SANDBOX0_BASE_URL");
    AUTO_FREE char *team = NULL;

    if (parameter_is_said(parameters->team_id) && asprintf(&team, "X-Team-ID: %s", parameters->team_id) < 0)
        return http_no_memory(call);
    const char *const headers[] = {team, NULL};
    const struct http_options options = {.service = SERVICE,
                                         .base_url = url ? url : "https://api.sandbox0.ai",
                                         .headers = headers,
                                         .id_header = "X-Request-Id"};

    return credential_open_client(call, KEYS, options, &sandbox0->client);
}

enum sandlot_status api_open(struct sandlot_call *call, struct sandbox0 *sandbox0)
{
    return clients_open_once(call, &sandbox0->lock, &sandbox0->client, open_client, sandbox0);
}

enum sandlot_status api_send(struct sandlot_call *call, struct sandbox0 *sandbox0, struct rest_request order,
                             struct http_response *response, struct json_object **answer)
{
    AUTO_DOCUMENT struct json_object *unwanted = NULL;
    enum sandlot_status status = api_open(call, sandbox0);

    order.limit = LONGEST_ANSWER;
    order.answered = true;
    return status == SANDLOT_OK ? rest_send(call, sandbox0->client, &order, response, answer ? answer : &unwanted)
                                : rest_drop(&order, status);
}

bool api_says(const struct http_response *response, const char *code)
{
    AUTO_DOCUMENT struct json_object *document =
        response->body ? json_read_document(response->body, response->length, NULL) : NULL;

    return json_says(document, "error.code", code);
}

#include "api.h"

#include <sandlot/sdk/credentials.h>
#include <sandlot/sdk/pause.h>
#include <string.h>

enum { LONGEST_PAUSE_MS = 2000, LONGEST_ANSWER = 64 << 20 };

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

static enum sandlot_status open_client(struct sandlot_call *call, struct sandbox0 *sandbox0)
{
    const struct parameters *parameters = &sandbox0->parameters;
    const char *url = parameter_or_variable(call, parameters->base_url, "SANDBOX0_BASE_URL");
    AUTO_FREE char *team = NULL;
    const char *key;
    enum sandlot_status status = credential_require(call, SERVICE, KEYS, &key);

    if (status != SANDLOT_OK)
        return status;
    if (parameter_is_said(parameters->team_id) && asprintf(&team, "X-Team-ID: %s", parameters->team_id) < 0)
        return api_no_memory(call);
    const char *const headers[] = {team, NULL};
    AUTO_FREE char *key_from = credential_source(call, KEYS);
    const struct http_options options = {.service = SERVICE,
                                         .base_url = url ? url : "https://api.sandbox0.ai",
                                         .bearer = key,
                                         .headers = headers,
                                         .key_from = key_from};

    return http_client_open(call, &options, &sandbox0->client);
}

enum sandlot_status api_open(struct sandlot_call *call, struct sandbox0 *sandbox0)
{
    enum sandlot_status status = SANDLOT_OK;

    pthread_mutex_lock(&sandbox0->lock);
    if (!sandbox0->client)
        status = open_client(call, sandbox0);
    pthread_mutex_unlock(&sandbox0->lock);
    return status;
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
    const char *word = NULL;

    return document && json_find_string(document, "error.code", &word, NULL) && word && strcmp(word, code) == 0;
}

enum sandlot_status api_refused(struct sandlot_call *call, struct sandbox0 *sandbox0, const char *method,
                                const char *target, const struct http_response *response)
{
    const struct http_request request = {.method = method, .target = target};

    return http_response_fail(call, sandbox0->client, &request, response);
}

enum sandlot_status api_pause(struct sandlot_call *call, int *pause_ms)
{
    return pause_longer(call, SERVICE, pause_ms, LONGEST_PAUSE_MS);
}

enum sandlot_status api_no_memory(struct sandlot_call *call)
{
    return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for a request to " SERVICE "; free some");
}

#include "api.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/clients.h>
#include <sandlot/sdk/credentials.h>
#include <string.h>

enum { SECOND_MS = 1000 };

static const int64_t longest_s = (int64_t)100 * 365 * 24 * 3600;

static const char default_url[] = "https://vercel.com/api";

void api_init(struct vercel *vercel, const struct parameters *parameters)
{
    *vercel = (struct vercel){.parameters = *parameters};
    pthread_mutex_init(&vercel->lock, NULL);
}

void api_clear(struct vercel *vercel)
{
    http_client_close(vercel->client);
    credentials_clear(&vercel->credentials);
    pthread_mutex_destroy(&vercel->lock);
}

static enum sandlot_status open_client(struct sandlot_call *call, void *context)
{
    struct vercel *vercel = context;
    const char *url = parameter_or_variable(call, vercel->parameters.base_url, "VERCEL_SANDBOX_BASE_URL");
    struct credentials credentials;
    enum sandlot_status status = credentials_find_all(call, &credentials);

    static const int repeated[] = {500, 0}; /* as Vercel's own client does */
    AUTO_FREE char *key_from = credentials.name ? credential_source(call, credentials.name) : NULL;
    const struct http_options options = {.service = VERCEL_SERVICE,
                                         .base_url = url ? url : default_url,
                                         .bearer = credentials.token,
                                         .repeated = repeated,
                                         .key_from = key_from};

    if (status == SANDLOT_OK)
        status = http_client_open(call, &options, &vercel->client);
    if (status == SANDLOT_OK)
        vercel->credentials = credentials;
    else
        credentials_clear(&credentials);
    return status;
}

enum sandlot_status api_open(struct sandlot_call *call, struct vercel *vercel)
{
    return clients_open_once(call, &vercel->lock, &vercel->client, open_client, vercel);
}

void api_add_scope(const struct vercel *vercel, char **target, enum api_scope scope)
{
    if (*target)
        http_target_add(target, "teamId", vercel->credentials.team);
    if (*target && scope != API_SESSION)
        http_target_add(target, scope == API_NAME ? "projectId" : "project", vercel->credentials.project);
}

enum sandlot_status api_send(struct sandlot_call *call, struct vercel *vercel, enum api_scope scope,
                             struct rest_request *request, struct http_response *response, struct json_object **answer)
{
    api_add_scope(vercel, &request->target, scope);
    request->answered = true;
    return rest_send(call, vercel->client, request, response, answer);
}

enum sandlot_status api_list(struct sandlot_call *call, struct vercel *vercel, const char *path, const char *cursor,
                             const struct sandlot_listing *listing, const struct rest_entry *entry)
{
    AUTO_DOCUMENT struct json_object *answer = NULL;
    enum sandlot_status status = api_open(call, vercel);

    if (status != SANDLOT_OK)
        return status;
    struct rest_request request = {.method = "GET", .target = http_target(path)};

    if (request.target)
        http_target_add(&request.target, "cursor", cursor);
    status = api_send(call, vercel, API_LIST, &request, NULL, &answer);
    return status == SANDLOT_OK ? rest_list_entries(call, listing, answer, NULL, entry) : status;
}

void api_error_code(const char *body, size_t length, char code[64])
{
    AUTO_DOCUMENT struct json_object *document = body ? json_read_document(body, length, NULL) : NULL;
    const char *word = NULL;

    if (document)
        json_find_string(document, "error.code", &word, NULL);
    snprintf(code, 64, "%s", word ? word : "");
}

int64_t api_milliseconds(int64_t seconds)
{
    return (seconds < 0 ? 0 : seconds > longest_s ? longest_s : seconds) * SECOND_MS;
}

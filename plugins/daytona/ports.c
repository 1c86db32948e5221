#include "ports.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/text_format.h>

#include <stdio.h>

static enum sandlot_status read_answer(struct sandlot_call *call, struct json_object *answer,
                                       struct http_relay_place *place)
{
    struct json_error error = {0};
    const char *url = NULL;
    const char *token = NULL;

    if (!answer || !json_read_string(answer, "url", &url, &error) || !json_read_string(answer, "token", &token, &error))
        return json_fail(call, "Daytona's answer about a port", &error);
    place->url = strdup(url);
    place->header = text_format("X-Daytona-Preview-Token: %s", token);
    return place->url && place->header ? SANDLOT_OK : http_no_memory(call);
}

/* The token lives until the sandbox is started the next time; it opens public ones too, which need none. */
enum sandlot_status ports_find(struct sandlot_call *call, void *provider, void *handle, uint16_t port, int64_t ttl_ms,
                               struct http_relay_place *place)
{
    const struct sandbox *sandbox = handle;
    AUTO_DOCUMENT struct json_object *answer = NULL;
    char number[8];

    (void)ttl_ms;
    snprintf(number, sizeof(number), "%u", (unsigned)port);
    place->is_public = sandbox->is_public;
    enum sandlot_status status = api_client(call, provider, &place->client);

    if (status == SANDLOT_OK)
        status = api_order(call, provider, "GET", http_target("/sandbox/{}/ports/{}/preview-url", sandbox->id, number),
                           NULL, NULL, &answer);
    return status == SANDLOT_OK ? read_answer(call, answer, place) : status;
}

#include "ports.h"

#include <string.h>

static enum sandlot_status no_route(struct sandlot_call *call, const struct sandbox *sandbox, uint16_t port)
{
    return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                        "Vercel has a URL for the ports only that were declared when a sandbox was made, and port %u "
                        "of '%.128s' was not; create one with --param ports=%u",
                        (unsigned)port, sandbox->name, (unsigned)port);
}

/* The URL of PORT among ROUTES, NULL for none of them, to be freed. */
static enum sandlot_status read_routes(struct sandlot_call *call, const struct sandbox *sandbox,
                                       struct json_object *routes, uint16_t port, char **url)
{
    struct json_error error;
    size_t count = routes ? json_object_array_length(routes) : 0;

    for (size_t i = 0; i < count; i++) {
        struct json_object *route = json_object_array_get_idx(routes, i);
        const char *text = NULL;
        int64_t number = 0;

        if (!json_read_integer(route, "port", &number, &error) || !json_read_string(route, "url", &text, &error))
            return json_fail(call, "Vercel's route to a port", &error);
        if (number != port)
            continue;
        *url = strdup(text);
        return *url ? SANDLOT_OK : http_no_memory(call);
    }
    return no_route(call, sandbox, port);
}

/* Each session has URLs of its own. One whose session is over is started again, as by any other use. */
enum sandlot_status ports_find(struct sandlot_call *call, void *provider, void *handle, uint16_t port, int64_t ttl_ms,
                               struct http_relay_place *place)
{
    struct vercel *vercel = provider;
    struct sandbox *sandbox = handle;
    AUTO_RECORD struct record record = {0};
    struct json_object *routes = NULL;
    struct json_error error;
    enum sandlot_status status = sandbox_renew(call, sandbox, &record);

    (void)ttl_ms;
    if (status != SANDLOT_OK)
        return status;
    if (!json_find_array(record.document, "routes", &routes, &error))
        return json_fail(call, "Vercel's record of a sandbox", &error);
    place->client = vercel->client;
    place->is_public = true; /* Vercel has no way to keep them from anybody */
    return read_routes(call, sandbox, routes, port, &place->url);
}

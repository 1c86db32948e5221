/*
 * A devbox has one tunnel at most, which leads to all of its ports, and which anybody may pass unless it is made with
 * authentication. So one is made with it where there is none; what somebody else has made stays as it is.
 */
#include "ports.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/text_format.h>
#include <string.h>

/* ---- the tunnel ----------------------------------------------------------------------------------------------------
 */

/* The record of the devbox, running: one that is suspended is resumed, as by any other use. */
static enum sandlot_status get_running(struct sandlot_call *call, const struct sandbox *sandbox, struct record *record)
{
    enum sandlot_status status = record_get(call, sandbox->runloop, sandbox->id, record);

    if (status != SANDLOT_OK || record->phase == PHASE_RUNNING)
        return status;
    if (record->phase == PHASE_GONE)
        return sandbox_is_gone(call, record);
    record_clear(record);
    status = sandbox_bring_up(call, sandbox->runloop, sandbox->id);
    return status == SANDLOT_OK ? record_get(call, sandbox->runloop, sandbox->id, record) : status;
}

/* *TUNNEL stays NULL: it was refused, for there is one by now, perhaps from a request whose answer was lost. */
static enum sandlot_status enable(struct sandlot_call *call, const struct sandbox *sandbox, struct json_object **tunnel)
{
    static const int refusals[] = {SANDBOX_REFUSALS, 0};
    struct json_builder body = {0};

    json_set_string(&body, "auth_mode", "authenticated");
    const struct api_order order = {.method = "POST",
                                    .target = http_target("/v1/devboxes/{}/enable_tunnel", sandbox->id),
                                    .body = json_finish(&body, NULL),
                                    .accepted = refusals};

    return api_send_order(call, sandbox->runloop, &order, NULL, tunnel);
}

/* To be released. */
static enum sandlot_status find_tunnel(struct sandlot_call *call, const struct sandbox *sandbox,
                                       struct json_object **tunnel)
{
    for (int look = 0; look < 2; look++) {
        AUTO_RECORD struct record record = {0};
        struct json_object *there = NULL;
        struct json_error error;
        enum sandlot_status status = get_running(call, sandbox, &record);

        if (status != SANDLOT_OK)
            return status;
        if (!json_find_object(record.document, "tunnel", &there, &error))
            return json_fail(call, "Runloop's record of a devbox", &error);
        *tunnel = json_object_get(there);
        if (!*tunnel && look == 0)
            status = enable(call, sandbox, tunnel);
        if (*tunnel || status != SANDLOT_OK)
            return status;
    }
    return sandlot_fail(call, SANDLOT_UNAVAILABLE,
                        "Runloop makes no tunnel to the ports of devbox %.100s; try again, or make it with Runloop's "
                        "own tools",
                        sandbox->id);
}

/* ---- the place -----------------------------------------------------------------------------------------------------
 */

/* What of PLACE the tunnel says: who gets in. */
static enum sandlot_status read_tunnel(struct sandlot_call *call, struct json_object *tunnel, const char **key,
                                       struct http_relay_place *place)
{
    struct json_error error;
    const char *mode = NULL;
    const char *token = NULL;
    bool well =
        json_read_string(tunnel, "tunnel_key", key, &error) && json_read_string(tunnel, "auth_mode", &mode, &error);

    place->is_public = well && strcmp(mode, "open") == 0;
    if (!well || (!place->is_public && !json_read_string(tunnel, "auth_token", &token, &error)))
        return json_fail(call, "Runloop's answer about a tunnel", &error);
    if (!place->is_public && !(place->header = text_format("X-Runloop-Tunnel-Authorization: Bearer %s", token)))
        return http_no_memory(call);
    return SANDLOT_OK;
}

static enum sandlot_status set_url(struct sandlot_call *call, const char *tunnels, const char *key, uint16_t port,
                                   struct http_relay_place *place)
{
    const char *scheme = strstr(tunnels, "://");

    if (!scheme)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "the parameter tunnel_url must be an address such as https://tunnel.runloop.ai");
    const char *host = scheme + 3;

    if (!(place->url = text_format("%.*s%u-%s.%.*s", (int)(host - tunnels), tunnels, (unsigned)port, key,
                                   (int)strcspn(host, "/"), host)))
        return http_no_memory(call);
    return SANDLOT_OK;
}

enum sandlot_status ports_find(struct sandlot_call *call, void *provider, void *handle, uint16_t port, int64_t ttl_ms,
                               struct http_relay_place *place)
{
    AUTO_DOCUMENT struct json_object *tunnel = NULL;
    AUTO_FREE char *tunnels = api_tunnels(call, provider);
    const char *key = NULL;
    enum sandlot_status status;

    (void)ttl_ms;
    if (!tunnels)
        return http_no_memory(call);
    status = api_client(call, provider, &place->client);
    if (status == SANDLOT_OK)
        status = find_tunnel(call, handle, &tunnel);
    if (status == SANDLOT_OK)
        status = read_tunnel(call, tunnel, &key, place);
    return status == SANDLOT_OK ? set_url(call, tunnels, key, port, place) : status;
}

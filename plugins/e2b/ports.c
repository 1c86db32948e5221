#include "ports.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/text_format.h>

#include <stdio.h>
#include <string.h>

/* Of sandboxes that were made without public traffic only the answers to creating and connecting have the token:
 * looking tells no more than that there is one. */
static enum sandlot_status find_token(struct sandlot_call *call, struct sandbox *sandbox,
                                      struct http_relay_place *place)
{
    AUTO_RECORD struct record record = {0};
    enum sandlot_status status = record_get(call, sandbox->e2b, sandbox->id, &record);

    if (status == SANDLOT_OK && record.paused)
        status = sandbox_wake(call, sandbox);
    place->is_public = status == SANDLOT_OK && !record.is_private;
    if (status != SANDLOT_OK || place->is_public)
        return status;
    record_clear(&record);
    status = record_connect(call, sandbox->e2b, sandbox->id, sandbox_lasts_ms(sandbox) / 1000, &record);
    if (status == SANDLOT_OK && !record.traffic_token)
        return sandlot_fail(call, SANDLOT_INTERNAL,
                            "E2B keeps the ports of sandbox %s private and gives no token for them; report it to E2B",
                            sandbox->id);
    if (status == SANDLOT_OK && !(place->header = text_format("e2b-traffic-access-token: %s", record.traffic_token)))
        return http_no_memory(call);
    return status;
}

enum sandlot_status ports_find(struct sandlot_call *call, void *provider, void *handle, uint16_t port, int64_t ttl_ms,
                               struct http_relay_place *place)
{
    const struct e2b *e2b = provider;
    struct sandbox *sandbox = handle;
    enum sandlot_status status = find_token(call, sandbox, place);

    (void)ttl_ms;
    place->client = e2b->control;
    if (status == SANDLOT_OK && !(place->url = text_format("http%s://%u-%s.%s", e2b->is_plain ? "" : "s",
                                                           (unsigned)port, sandbox->id, sandbox->domain)))
        return http_no_memory(call);
    return status;
}

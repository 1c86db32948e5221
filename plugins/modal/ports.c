/*
 * Modal's tunnels are open to anybody and must be declared when a sandbox is made. A connect token needs neither: it
 * leads to one port, whichever, of a sandbox that runs.
 */
#include "operations.h"

#include "message.h"

#include <sandlot/sdk/text_format.h>

#include <string.h>

static enum sandlot_status ask(struct sandlot_call *call, const struct sandbox *sandbox, uint16_t port,
                               Modal__SandboxConnectToken **answer)
{
    Modal__SandboxConnectTokenRequest request = MODAL__SANDBOX_CONNECT_TOKEN_REQUEST__INIT;
    const struct rpc rpc = {.name =
                                sandbox->first_generation ? "SandboxCreateConnectToken" : "SandboxCreateConnectTokenV2",
                            .request = &request.base,
                            .answer = &modal__sandbox_connect_token__descriptor,
                            .accepted = GRPC_BIT(GRPC_NOT_FOUND) | GRPC_BIT(GRPC_FAILED_PRECONDITION)};
    int code = GRPC_OK;

    request.sandbox_id = sandbox->id;
    request.port = port;
    enum sandlot_status status = api_call(call, sandbox->modal, &rpc, &code, answer);

    if (status != SANDLOT_OK || code == GRPC_OK)
        return status;
    status = sandbox_check_alive(call, sandbox);
    return status == SANDLOT_OK ? sandlot_fail(call, SANDLOT_UNAVAILABLE,
                                               "Modal gives no token for the ports of sandbox %.100s (%s); try again",
                                               sandbox->id, grpc_code_name(code))
                                : status;
}

/* Without the slashes at its end. */
static enum sandlot_status take(struct sandlot_call *call, const Modal__SandboxConnectToken *answer,
                                struct http_relay_place *place)
{
    size_t length = strlen(answer->url);

    if (length == 0 || !*answer->token)
        return sandlot_fail(call, SANDLOT_INTERNAL,
                            "Modal's answer about a port has no address or no token; try again");
    while (length > 0 && answer->url[length - 1] == '/')
        length--;
    place->url = strndup(answer->url, length);
    place->header = text_format("Authorization: Bearer %s", answer->token);
    return place->url && place->header ? SANDLOT_OK : api_no_memory(call);
}

enum sandlot_status ports_find(struct sandlot_call *call, void *provider, void *handle, uint16_t port, int64_t ttl_ms,
                               struct http_relay_place *place)
{
    AUTO_MESSAGE Modal__SandboxConnectToken *answer = NULL;
    enum sandlot_status status = api_outside(call, provider, &place->client);

    (void)ttl_ms;
    if (status == SANDLOT_OK)
        status = ask(call, handle, port, &answer);
    return status == SANDLOT_OK && answer ? take(call, answer, place) : status;
}

/*
 * A port has a URL once a name was asked for and the sandbox was told to serve the port there. Deno lets everybody in
 * who knows it, and takes no name back: so nothing is exposed that the user has not said may be.
 */
#include "ports.h"

#include <sandlot/sdk/cleanup.h>

#include <string.h>

static enum sandlot_status ask_for_name(struct sandlot_call *call, const struct sandbox *sandbox, char **name)
{
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    const char *domain = NULL;
    struct json_error error;
    const struct rest_request request = {.method = "POST",
                                         .target = http_target("/api/v3/sandbox/{}/expose/http", sandbox->id),
                                         .text = "{}",
                                         .repeatable = true}; /* a name that nobody uses leads nowhere */
    enum sandlot_status status = rest_send(call, sandbox->client, &request, &response, &answer);

    if (status != SANDLOT_OK)
        return status;
    if (!json_read_string(answer, "domain", &domain, &error))
        return json_fail(call, "Deno's name for a port", &error);
    *name = strdup(domain);
    return *name ? SANDLOT_OK : http_no_memory(call);
}

static enum sandlot_status serve_there(struct sandlot_call *call, struct sandbox *sandbox, const char *name,
                                       uint16_t port)
{
    struct json_builder params = {0};
    struct line_message answer;
    struct line *line;
    enum sandlot_status status = sandbox_take(call, sandbox, &line);

    if (status != SANDLOT_OK)
        return status;
    json_set_string(&params, "domain", name);
    json_set_integer(&params, "port", port);
    status = line_do(call, line, "exposeHttp", &params, &answer, "expose a port");
    sandbox_give(call, sandbox, line);
    return status;
}

enum sandlot_status ports_find(struct sandlot_call *call, void *provider, void *handle, uint16_t port, int64_t ttl_ms,
                               struct http_relay_place *place)
{
    const struct deno *deno = provider;
    struct sandbox *sandbox = handle;
    AUTO_FREE char *name = NULL;

    (void)ttl_ms;
    if (!deno->parameters.public_ports)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "Deno has for port %u only a public URL, which lasts as long as the sandbox; say --param "
                            "public_ports=true if everybody who knows it may get in",
                            (unsigned)port);
    enum sandlot_status status = ask_for_name(call, sandbox, &name);

    if (status == SANDLOT_OK)
        status = serve_there(call, sandbox, name, port);
    if (status != SANDLOT_OK)
        return status;
    place->client = sandbox->client;
    place->is_public = true;
    place->url = api_port_url(deno, name);
    return place->url ? SANDLOT_OK : http_no_memory(call);
}

#include "policy.h"

#include <string.h>

static const struct network_limits limits = {.service = "LangSmith",
                                             .never_off = "has no switch that turns a sandbox's network off",
                                             .no_ipv6 = true,
                                             .no_ports = true};

enum sandlot_status policy_check(struct sandlot_call *call, struct api *api, const struct sandlot_network *network)
{
    enum sandlot_status status =
        network_exclude(call, network, "proxy_config", parameter_is_said(api->parameters.proxy_config));

    if (status == SANDLOT_OK)
        status = network_check(call, &limits, network);
    return status == SANDLOT_OK && network ? api_hide(call, api, network) : status;
}

/* ---- what is written --------------------------------------------------------------------------------------------- */

/* Opaque: nobody can read the value afterwards. */
static void add_header(struct json_builder *rule, const struct sandlot_network_credential *credential)
{
    struct json_builder header = {0};

    json_set_string(&header, "name", credential->header);
    json_set_string(&header, "type", "opaque");
    json_set_string(&header, "value", credential->value);
    json_set_built(rule, "headers[]", &header);
}

/* One rule with all headers of HOST. */
static void add_rule(struct json_builder *body, const struct sandlot_network *network, const char *host)
{
    struct json_builder rule = {0};

    json_set_string(&rule, "name", host);
    json_set_string(&rule, "match_hosts[]", host);
    for (size_t i = 0; i < network->credential_count; i++)
        if (strcmp(network->credentials[i].host, host) == 0)
            add_header(&rule, &network->credentials[i]);
    json_set_built(body, "proxy_config.rules[]", &rule);
}

void policy_set(struct json_builder *body, const struct sandlot_network *network)
{
    const bool listed = network->mode == SANDLOT_NETWORK_ALLOW;

    json_set_object(body, "proxy_config");
    if (listed)
        network_add(body, "proxy_config.access_control.allow_list", network, NETWORK_ALL);
    for (size_t i = 0; i < network->credential_count; i++) {
        const char *host = network->credentials[i].host;

        if (!network_begins_host(network, i))
            continue;
        add_rule(body, network, host);
        if (listed && !network_lists(network, host))
            json_set_string(body, "proxy_config.access_control.allow_list[]", host);
    }
}

/* ---- a living sandbox -------------------------------------------------------------------------------------------- */

static enum sandlot_status find_rules(struct sandlot_call *call, const struct sandbox *sandbox, bool *has_rules)
{
    AUTO_ANSWER struct api_answer answer = {0};
    struct json_object *rules = NULL;
    enum sandlot_status status =
        api_get(call, sandbox->api, http_target("/boxes/{}", sandbox->name), NULL, ABOUT_SANDBOX, &answer);

    if (status == SANDLOT_OK)
        json_find_array(answer.document, "proxy_config.rules", &rules, NULL);
    *has_rules = rules && json_object_array_length(rules) > 0;
    return status;
}

/* Only what is awake can be changed; the whole is replaced, rules too. */
enum sandlot_status policy_change(struct sandlot_call *call, void *provider, void *handle,
                                  const struct sandlot_network *network)
{
    struct sandbox *sandbox = handle;
    struct json_builder body = {0};
    AUTO_ANSWER struct api_answer answer = {0};
    bool has_rules = false;
    enum sandlot_status status = network_check(call, &limits, network);

    (void)provider;
    if (status == SANDLOT_OK)
        status = sandbox_wake(call, sandbox);
    if (status == SANDLOT_OK)
        status = find_rules(call, sandbox, &has_rules);
    if (status == SANDLOT_OK)
        status = network_refuse_change(call, "LangSmith", has_rules);
    if (status != SANDLOT_OK)
        return status;
    policy_set(&body, network);
    const struct api_request request = {
        .method = "PATCH", .target = http_target("/boxes/{}", sandbox->name), .body = &body, .repeatable = true};

    return api_send(call, sandbox->api, &request, &answer);
}

#include "policy.h"

#include <sandlot/sdk/cleanup.h>

static const struct network_limits limits = {.service = "Vercel", .no_ipv6 = true, .no_ports = true};

enum sandlot_status policy_check(struct sandlot_call *call, struct vercel *vercel,
                                 const struct sandlot_network *network)
{
    const struct parameters *parameters = &vercel->parameters;
    enum sandlot_status status = network_exclude(call, network, "network_block", parameters->network_block);

    if (status == SANDLOT_OK)
        status = network_exclude(call, network, "network_policy", parameter_is_said(parameters->network_policy));
    if (status == SANDLOT_OK)
        status = network_check(call, &limits, network);
    if (status == SANDLOT_OK && network)
        status = api_open(call, vercel);
    if (status == SANDLOT_OK)
        network_hide(network, http_client_add_secret, vercel->client);
    return status;
}

/* ---- what is written --------------------------------------------------------------------------------------------- */

/* HOST with RULES, an array that is taken over, as a member of HOSTS. */
static void add_host(struct json_builder *body, struct json_object *hosts, const char *host, struct json_object *rules)
{
    if (host && rules && json_object_object_add(hosts, host, rules) == 0)
        return;
    json_object_put(rules);
    body->failed = true;
}

/* One rule has all headers of a host. */
static struct json_object *rules_of(const struct sandlot_network *network, const char *host)
{
    struct json_builder rules = {0};

    json_set_value(&rules, "[].transform[].headers", network_headers(network, host));
    if (!rules.failed)
        return rules.root;
    json_object_put(rules.root);
    return NULL;
}

/*
 * Hosts as members, for some of them have rules. Where everything is open that must be said too: rules alone close.
 * Not by a network of all addresses: what an address opens goes past the rules of hosts.
 */
static void set_hosts_with_rules(struct json_builder *body, const struct sandlot_network *network)
{
    struct json_object *hosts = json_object_new_object();

    if (!hosts) {
        body->failed = true;
        return;
    }
    for (size_t i = 0; i < network->entry_count; i++) {
        AUTO_FREE char *text = network_text(&network->entries[i]);

        if (network_is(&network->entries[i], NETWORK_NAMES))
            add_host(body, hosts, text, json_object_new_array());
    }
    for (size_t i = 0; i < network->credential_count; i++)
        if (network_begins_host(network, i))
            add_host(body, hosts, network->credentials[i].host, rules_of(network, network->credentials[i].host));
    if (network->mode == SANDLOT_NETWORK_OPEN)
        add_host(body, hosts, "*", json_object_new_array());
    json_set_value(body, "networkPolicy.allow", hosts);
}

void policy_set(struct json_builder *body, const struct sandlot_network *network)
{
    if (network->mode != SANDLOT_NETWORK_ALLOW && network->credential_count == 0) {
        json_set_string(body, "networkPolicy.mode", network->mode == SANDLOT_NETWORK_OPEN ? "allow-all" : "deny-all");
        return;
    }
    if (network->credential_count > 0)
        set_hosts_with_rules(body, network);
    else
        network_add(body, "networkPolicy.allow", network, NETWORK_NAMES);
    if (network_count(network, NETWORK_CIDRS) > 0)
        network_add(body, "networkPolicy.subnets.allow", network, NETWORK_CIDRS);
}

/* ---- a living sandbox -------------------------------------------------------------------------------------------- */

/* For the running session and those to come. The whole is replaced, and the values of headers are never told. */
enum sandlot_status policy_change(struct sandlot_call *call, void *provider, void *handle,
                                  const struct sandlot_network *network)
{
    struct sandbox *sandbox = handle;
    struct json_builder body = {0};
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    enum sandlot_status status = network_check(call, &limits, network);

    if (status == SANDLOT_OK)
        status = network_refuse_change(call, "Vercel", sandbox->has_credentials);
    if (status != SANDLOT_OK)
        return status;
    policy_set(&body, network);
    struct rest_request request = {
        .method = "PATCH", .target = http_target("/v2/sandboxes/{}", sandbox->name), .body = &body, .repeatable = true};

    return api_send(call, provider, API_NAME, &request, &response, &answer);
}

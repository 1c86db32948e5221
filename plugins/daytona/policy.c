#include "policy.h"

#include "sandbox.h"

#include <sandlot/sdk/cleanup.h>

#include <string.h>

static const struct network_limits limits = {
    .service = "Daytona", .most_names = 10, .most_networks = 10, .no_ipv6 = true, .no_ports = true};

/* ---- what cannot be held ----------------------------------------------------------------------------------------- */

/* A domain has two parts at least, and the last one letters alone. */
static bool is_odd(const struct sandlot_network_entry *entry)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    const char *dot = strrchr(entry->text, '.');

    return entry->kind != SANDLOT_NETWORK_CIDR && (!dot || strspn(dot + 1, letters) != strlen(dot + 1));
}

static bool is_any(const struct sandlot_network_entry *entry)
{
    return entry->kind != SANDLOT_NETWORK_CIDR;
}

static enum sandlot_status check_entries(struct sandlot_call *call, const struct daytona *daytona,
                                         const struct sandlot_network *network)
{
    enum sandlot_status status = network_check(call, &limits, network);

    if (status == SANDLOT_OK)
        status = network_refuse(call, "Daytona", network, is_odd,
                                "a domain has at least two parts there, the last one of letters alone");
    if (status == SANDLOT_OK && api_is_own_server(call, daytona) && !daytona->parameters.trust_domain_list)
        status = network_refuse(call, "Daytona", network, is_any,
                                "a server of one's own keeps a list of domains and enforces nothing of it; list "
                                "networks, or say --param trust_domain_list=true if you know that yours does");
    return status;
}

enum sandlot_status policy_check(struct sandlot_call *call, const struct daytona *daytona,
                                 const struct sandlot_network *network)
{
    const struct parameters *wanted = &daytona->parameters;
    enum sandlot_status status = network_exclude(call, network, "network_block", wanted->network_block);

    if (status == SANDLOT_OK)
        status = network_exclude(call, network, "network_allow_list", parameter_is_said(wanted->network_allow_list));
    if (status == SANDLOT_OK)
        status = network_exclude(call, network, "domain_allow_list", parameter_is_said(wanted->domain_allow_list));
    return status == SANDLOT_OK && network ? check_entries(call, daytona, network) : status;
}

/* ---- what is written --------------------------------------------------------------------------------------------- */

static void set_list(struct json_builder *body, const char *path, const struct sandlot_network *network, int which)
{
    AUTO_FREE char *list = network_join(network, which, ',');

    body->failed |= !list;
    json_set_string(body, path, list);
}

void policy_set(struct json_builder *body, const struct sandlot_network *network)
{
    json_set_boolean(body, "networkBlockAll", network->mode == SANDLOT_NETWORK_OFF);
    if (network_count(network, NETWORK_CIDRS) > 0)
        set_list(body, "networkAllowList", network, NETWORK_CIDRS);
    if (network_count(network, NETWORK_NAMES) > 0)
        set_list(body, "domainAllowList", network, NETWORK_NAMES);
}

/* ---- a living sandbox -------------------------------------------------------------------------------------------- */

/* What is left out stays, what is empty goes: so all is said each time. */
enum sandlot_status policy_change(struct sandlot_call *call, void *provider, void *handle,
                                  const struct sandlot_network *network)
{
    const struct sandbox *sandbox = handle;
    struct json_builder body = {0};
    AUTO_FREE char *target = http_target("/sandbox/{}/network-settings", sandbox->id);
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *document = NULL;
    size_t length = 0;
    enum sandlot_status status = check_entries(call, provider, network);

    if (status != SANDLOT_OK)
        return status;
    json_set_boolean(&body, "networkBlockAll", network->mode == SANDLOT_NETWORK_OFF);
    if (network->mode != SANDLOT_NETWORK_OFF)
        set_list(&body, "networkAllowList", network, NETWORK_CIDRS);
    set_list(&body, "domainAllowList", network, NETWORK_NAMES);
    AUTO_FREE char *text = json_finish(&body, &length);
    const struct http_request order = {.method = "POST",
                                       .target = target,
                                       .type = "application/json",
                                       .body = {.bytes = text, .length = length},
                                       .repeatable = true};

    return text && target ? api_send(call, provider, &order, &response, &document) : api_no_memory(call);
}

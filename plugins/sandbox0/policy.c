#include "policy.h"

#include <stdlib.h>
#include <string.h>

static const struct network_limits limits = {.service = SERVICE, .no_ipv6 = true};

static enum sandlot_status check(struct sandlot_call *call, const struct sandlot_network *network)
{
    if (network && network->mode == SANDLOT_NETWORK_OFF)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            SERVICE
                            " lets questions for names out of every sandbox, so its network is never off; allow "
                            "the hosts that it needs");
    if (network && network->credential_count > 0)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            SERVICE
                            " cannot be given the credential for %.300s here; leave it out, or make a source of "
                            "credentials there and name it in the parameter network",
                            network->credentials[0].host);
    return network_check(call, &limits, network);
}

enum sandlot_status policy_check(struct sandlot_call *call, const struct sandbox0 *sandbox0,
                                 const struct sandlot_network *network)
{
    enum sandlot_status status =
        network_exclude(call, network, "network", parameter_is_said(sandbox0->parameters.network));

    return status == SANDLOT_OK ? check(call, network) : status;
}

/* ---- what is written --------------------------------------------------------------------------------------------- */

static void add_port(struct json_builder *rule, unsigned int port)
{
    struct json_builder one = {0};

    json_set_integer(&one, "port", port);
    json_set_string(&one, "protocol", "tcp");
    json_set_built(rule, "ports[]", &one);
}

/* One rule for ENTRY: name or network, and the ports that are meant. */
static void add_rule(struct json_builder *policy, const struct sandlot_network_entry *entry)
{
    struct json_builder rule = {0};
    AUTO_FREE char *text = network_text(entry);

    rule.failed = !text;
    json_set_string(&rule, "action", "allow");
    json_set_string(&rule, network_is(entry, NETWORK_CIDRS) ? "cidrs[]" : "domains[]", text);
    add_port(&rule, entry->port ? entry->port : 80);
    if (!entry->port)
        add_port(&rule, 443);
    json_set_built(policy, "egress.trafficRules[]", &rule);
}

/* A wildcard there covers the name itself too, which is not meant: that is denied before. */
static void add_rules_below(struct json_builder *policy, const struct sandlot_network_entry *entry)
{
    struct json_builder rule = {0};

    json_set_string(&rule, "action", "deny");
    json_set_string(&rule, "domains[]", entry->text);
    json_set_built(policy, "egress.trafficRules[]", &rule);
    add_rule(policy, entry);
}

/* Shorter names come first: what a name's own wildcard denies, one above it may allow. */
static int by_length(const void *one, const void *other)
{
    const struct sandlot_network_entry *const *left = one;
    const struct sandlot_network_entry *const *right = other;
    const size_t lengths[] = {strlen((*left)->text), strlen((*right)->text)};

    return (lengths[0] > lengths[1]) - (lengths[0] < lengths[1]);
}

static void add_all(struct json_builder *policy, const struct sandlot_network *network)
{
    const struct sandlot_network_entry **below = calloc(network->entry_count + 1, sizeof(const void *));
    size_t count = 0;

    if (!below) {
        policy->failed = true;
        return;
    }
    json_set_array(policy, "egress.trafficRules");
    for (size_t i = 0; i < network->entry_count; i++) {
        if (network->entries[i].kind == SANDLOT_NETWORK_BELOW)
            below[count++] = &network->entries[i];
        else
            add_rule(policy, &network->entries[i]);
    }
    qsort(below, count, sizeof(const void *), by_length);
    for (size_t i = 0; i < count; i++)
        add_rules_below(policy, below[i]);
    free(below);
}

void policy_write(struct json_builder *policy, const struct sandlot_network *network)
{
    const bool open = network->mode == SANDLOT_NETWORK_OPEN;

    json_set_string(policy, "mode", open ? "allow-all" : "block-all");
    if (!open)
        add_all(policy, network);
}

/* ---- what there is ----------------------------------------------------------------------------------------------- */

enum sandlot_status policy_put(struct sandlot_call *call, struct sandbox0 *sandbox0, const char *id,
                               const struct sandlot_network *network)
{
    struct json_builder body = {0};
    const struct rest_request order = {
        .method = "PUT", .target = http_target(SANDBOXES "/{}/network", id), .body = &body, .repeatable = true};

    policy_write(&body, network);
    return api_send(call, sandbox0, order, NULL, NULL);
}

/* The whole is replaced: bindings of credentials, which only a user can have made, are not to go with it. */
enum sandlot_status policy_change(struct sandlot_call *call, void *provider, void *handle,
                                  const struct sandlot_network *network)
{
    const struct sandbox *sandbox = handle;
    const struct rest_request order = {.method = "GET", .target = http_target(SANDBOXES "/{}/network", sandbox->id)};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct json_object *bindings = NULL;
    enum sandlot_status status = check(call, network);

    status = status == SANDLOT_OK ? api_send(call, provider, order, NULL, &answer) : rest_drop(&order, status);
    if (status != SANDLOT_OK)
        return status;
    json_find_array(answer, "data.credentialBindings", &bindings, NULL);
    status = network_refuse_change(call, SERVICE, bindings && json_object_array_length(bindings) > 0);
    return status == SANDLOT_OK ? policy_put(call, provider, sandbox->id, network) : status;
}

#include "policy.h"

#include <sandlot/sdk/cleanup.h>

#include <string.h>

#define EVERYTHING "0.0.0.0/0"
#define REFERENCE "${" /* E2B puts a secret of its own in the place of "${e2b.secrets.NAME}" */

enum { MOST_HOSTS = 10, MOST_HEADERS = 20, LONGEST_HOST = 128, LONGEST_NAME = 64, LONGEST_VALUE = 2048 };

static const struct network_limits limits = {
    .service = E2B_SERVICE, .most_credential_hosts = MOST_HOSTS, .no_ipv6 = true, .no_ports = true};

/* ---- what cannot be held ----------------------------------------------------------------------------------------- */

static size_t count_headers(const struct sandlot_network *network, const char *host)
{
    size_t count = 0;

    for (size_t i = 0; i < network->credential_count; i++)
        count += strcmp(network->credentials[i].host, host) == 0;
    return count;
}

/* What is wrong with a credential at E2B; NULL: nothing. */
static const char *find_fault(const struct sandlot_network *network, const struct sandlot_network_credential *one)
{
    if (strlen(one->host) > LONGEST_HOST)
        return "its host has more than 128 characters";
    if (strlen(one->header) > LONGEST_NAME)
        return "its header's name has more than 64 characters";
    if (strlen(one->value) > LONGEST_VALUE)
        return "its value has more than 2048 characters";
    if (strstr(one->value, REFERENCE))
        return "its value holds \"" REFERENCE "\", which E2B would replace";
    return count_headers(network, one->host) > MOST_HEADERS ? "its host has more than 20 headers" : NULL;
}

static enum sandlot_status check_credentials(struct sandlot_call *call, const struct sandlot_network *network)
{
    for (size_t i = 0; i < network->credential_count; i++) {
        const struct sandlot_network_credential *one = &network->credentials[i];
        const char *fault = find_fault(network, one);

        if (fault)
            return sandlot_fail(call, SANDLOT_UNSUPPORTED, "E2B cannot hold the credential for %.300s: %s", one->host,
                                fault);
    }
    return SANDLOT_OK;
}

enum sandlot_status policy_check(struct sandlot_call *call, const struct e2b *e2b,
                                 const struct sandlot_network *network)
{
    const struct parameters *parameters = &e2b->parameters;
    enum sandlot_status status = network_exclude(call, network, "network", parameter_is_said(parameters->network));

    if (status == SANDLOT_OK)
        status = network_exclude(call, network, "internet", !parameters->internet);
    if (status == SANDLOT_OK)
        status = network_check(call, &limits, network);
    return status == SANDLOT_OK && network ? check_credentials(call, network) : status;
}

/* ---- what is written --------------------------------------------------------------------------------------------- */

/* A rule alone opens nothing: its host must be allowed, too; and names are allowed only where everything else is
 * denied, also when everything is allowed after that. */
static void set_credentials(struct json_builder *body, const struct sandlot_network *network)
{
    struct json_object *rules = json_object_new_object();

    for (size_t i = 0; rules && i < network->credential_count; i++) {
        const char *host = network->credentials[i].host;
        struct json_builder list = {0};

        if (!network_begins_host(network, i))
            continue;
        json_set_value(&list, "[].transform.headers", network_headers(network, host));
        body->failed |= list.failed || json_object_object_add(rules, host, json_object_get(list.root)) != 0;
        json_object_put(list.root);
        if (!network_lists(network, host))
            json_set_string(body, "network.allowOut[]", host);
    }
    json_set_value(body, "network.rules", rules);
}

void policy_set(struct json_builder *body, const struct sandlot_network *network)
{
    if (!network)
        return;
    const bool listed = network->mode == SANDLOT_NETWORK_ALLOW || network->credential_count > 0;

    if (!listed) {
        json_set_boolean(body, "allow_internet_access", network->mode == SANDLOT_NETWORK_OPEN);
        return;
    }
    network_add(body, "network.allowOut", network, NETWORK_ALL);
    if (network->mode == SANDLOT_NETWORK_OPEN)
        json_set_string(body, "network.allowOut[]", EVERYTHING);
    json_set_string(body, "network.denyOut[]", EVERYTHING);
    if (network->credential_count > 0)
        set_credentials(body, network);
}

/* ---- a living sandbox -------------------------------------------------------------------------------------------- */

/* What is left out here is cleared; so credentials, whose values nobody has any more, would be lost, and a user's own
 * rules. */
enum sandlot_status policy_change(struct sandlot_call *call, void *provider, void *handle,
                                  const struct sandlot_network *network)
{
    struct sandbox *sandbox = handle;
    struct json_builder body = {0};
    AUTO_RESPONSE struct http_response response = {0};
    const struct api_request request = {
        .method = "PUT", .pattern = "/sandboxes/{}/network", .id = sandbox->id, .body = &body, .repeatable = true};
    enum sandlot_status status = network_check(call, &limits, network);

    if (status == SANDLOT_OK)
        status = network_refuse_change(call, E2B_SERVICE, sandbox->has_credentials);
    if (status != SANDLOT_OK)
        return status;
    if (network->mode == SANDLOT_NETWORK_ALLOW) {
        network_add(&body, "allowOut", network, NETWORK_ALL);
        json_set_string(&body, "denyOut[]", EVERYTHING);
    } else {
        json_set_boolean(&body, "allow_internet_access", network->mode == SANDLOT_NETWORK_OPEN);
    }
    return api_send(call, provider, &request, &response, NULL);
}

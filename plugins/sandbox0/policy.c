#include "policy.h"

#include "sources.h"

#include <stdlib.h>
#include <string.h>

static const struct network_limits limits = {
    .service = SERVICE,
    .never_off = "lets questions for names out of every sandbox, so its network is never off",
    .no_ipv6 = true};

static enum sandlot_status check_credentials(struct sandlot_call *call, const struct sandbox0 *sandbox0,
                                             const struct sandlot_network *network)
{
    if (!network || network->credential_count == 0 || sandbox0->parameters.team_credentials)
        return SANDLOT_OK;
    return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                        SERVICE " keeps the credential for %.300s as a thing of the whole team while the sandbox "
                                "lives; leave it out, or set team_credentials=true in the configuration",
                        network->credentials[0].host);
}

enum sandlot_status policy_check(struct sandlot_call *call, const struct sandbox0 *sandbox0,
                                 const struct sandlot_network *network)
{
    enum sandlot_status status =
        network_exclude(call, network, "network", parameter_is_said(sandbox0->parameters.network));

    if (status == SANDLOT_OK)
        status = network_check(call, &limits, network);
    return status == SANDLOT_OK ? check_credentials(call, sandbox0, network) : status;
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

/* The host of a credential is allowed by that alone, over TLS. */
static void add_credential_host(struct json_builder *policy, const char *host)
{
    const struct sandlot_network_entry entry = {.kind = SANDLOT_NETWORK_HOST, .text = host, .port = 443};

    add_rule(policy, &entry);
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
    for (size_t i = 0; i < network->credential_count; i++)
        if (network_begins_host(network, i))
            add_credential_host(policy, network->credentials[i].host);
    qsort(below, count, sizeof(const void *), by_length);
    for (size_t i = 0; i < count; i++)
        add_rules_below(policy, below[i]);
    free(below);
}

/* Where the credentials of HOST are added, for which its TLS is opened. */
static void add_credential_rule(struct json_builder *policy, const char *host)
{
    struct json_builder rule = {0};

    json_set_string(&rule, "credentialRef", host);
    json_set_string(&rule, "protocol", "https");
    json_set_string(&rule, "tlsMode", "terminate-reoriginate");
    json_set_string(&rule, "failurePolicy", "fail-closed");
    json_set_string(&rule, "domains[]", host);
    add_port(&rule, 443);
    json_set_built(policy, "egress.credentialRules[]", &rule);
}

/* The header NAME is value INDEX of the source. */
static void add_header(struct json_builder *binding, const char *name, size_t index)
{
    struct json_builder header = {0};
    char text[40];

    snprintf(text, sizeof(text), "{{ .value%zu }}", index);
    json_set_string(&header, "name", name);
    json_set_string(&header, "valueTemplate", text);
    json_set_built(binding, "projection.httpHeaders.headers[]", &header);
}

/* All headers of HOST, from the values of SOURCE. */
static void add_binding(struct json_builder *policy, const struct sandlot_network *network, const char *host,
                        const char *source)
{
    struct json_builder binding = {0};

    json_set_string(&binding, "ref", host);
    json_set_string(&binding, "sourceRef", source);
    json_set_string(&binding, "projection.type", "http_headers");
    for (size_t i = 0; i < network->credential_count; i++)
        if (strcmp(network->credentials[i].host, host) == 0)
            add_header(&binding, network->credentials[i].header, i);
    json_set_built(policy, "credentialBindings[]", &binding);
}

static void add_credentials(struct json_builder *policy, const struct sandlot_network *network, const char *source)
{
    for (size_t i = 0; i < network->credential_count; i++)
        if (network_begins_host(network, i)) {
            add_credential_rule(policy, network->credentials[i].host);
            add_binding(policy, network, network->credentials[i].host, source);
        }
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
    AUTO_FREE char *source = network->credential_count > 0 ? sources_name(id) : NULL;
    struct json_builder policy = {0};
    enum sandlot_status status = SANDLOT_OK;

    if (network->credential_count > 0)
        status = source ? sources_make(call, sandbox0, id, network) : http_no_memory(call);
    if (status != SANDLOT_OK)
        return status;
    policy_write(&policy, network);
    if (source)
        add_credentials(&policy, network, source);
    const struct rest_request order = {
        .method = "PUT", .target = http_target(SANDBOXES "/{}/network", id), .body = &policy, .repeatable = true};

    return api_send(call, sandbox0, order, NULL, NULL);
}

/* The whole is replaced, and with it would go what binds credentials, a user's too, of which nobody has the values. */
enum sandlot_status policy_change(struct sandlot_call *call, void *provider, void *handle,
                                  const struct sandlot_network *network)
{
    const struct sandbox *sandbox = handle;
    const struct rest_request order = {.method = "GET", .target = http_target(SANDBOXES "/{}/network", sandbox->id)};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct json_object *bindings = NULL;
    enum sandlot_status status = network_check(call, &limits, network);

    status = status == SANDLOT_OK ? api_send(call, provider, order, NULL, &answer) : rest_drop(&order, status);
    if (status != SANDLOT_OK)
        return status;
    json_find_array(answer, "data.credentialBindings", &bindings, NULL);
    status = network_refuse_change(call, SERVICE, bindings && json_object_array_length(bindings) > 0);
    return status == SANDLOT_OK ? policy_put(call, provider, sandbox->id, network) : status;
}

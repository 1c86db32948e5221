#include "policy.h"

#include "allow.h"
#include "pod.h"
#include "sandbox.h"

#include <string.h>

#define NAME "sandlot-deny-all"

/* No rule of any kind, and for both directions: all others would open something. */
static bool denies_all(struct json_object *policy)
{
    struct json_object *types = NULL;
    struct json_object *rules = NULL;
    const char *selected = api_text(policy, "spec.podSelector.matchLabels.\"" POD_NETWORK_KEY "\"");
    struct json_object *labels = NULL;
    struct json_object *expressions = NULL;
    bool directions[2] = {false, false};

    json_find_object(policy, "spec.podSelector.matchLabels", &labels, NULL);
    json_find_array(policy, "spec.podSelector.matchExpressions", &expressions, NULL);
    json_find_array(policy, "spec.policyTypes", &types, NULL);
    for (size_t i = 0; types && i < json_object_array_length(types); i++) {
        const char *type = json_object_get_string(json_object_array_get_idx(types, i));

        directions[0] = directions[0] || (type && strcmp(type, "Ingress") == 0);
        directions[1] = directions[1] || (type && strcmp(type, "Egress") == 0);
    }
    json_find_array(policy, "spec.egress", &rules, NULL);
    bool open = rules && json_object_array_length(rules) > 0;

    rules = NULL;
    json_find_array(policy, "spec.ingress", &rules, NULL);
    open = open || (rules && json_object_array_length(rules) > 0);
    return directions[0] && directions[1] && !open && selected && strcmp(selected, "none") == 0 &&
           json_object_object_length(labels) == 1 && (!expressions || json_object_array_length(expressions) == 0);
}

static enum sandlot_status create(struct sandlot_call *call, struct kubernetes *kubernetes)
{
    static const int exists[] = {409, 0};
    struct json_builder body = {0};
    struct api_request request = {.method = "POST",
                                  .target = api_path(kubernetes, POLICY_GROUP, POLICY_PLURAL, NULL),
                                  .body = &body,
                                  .accepted = exists};

    json_set_string(&body, "apiVersion", POLICY_GROUP);
    json_set_string(&body, "kind", "NetworkPolicy");
    json_set_string(&body, "metadata.name", NAME);
    json_set_member(&body, "metadata.labels", POD_OWNER_KEY, POD_OWNER);
    json_set_member(&body, "spec.podSelector.matchLabels", POD_NETWORK_KEY, "none");
    json_set_string(&body, "spec.policyTypes[]", "Ingress");
    json_set_string(&body, "spec.policyTypes[]", "Egress");
    return api_send(call, kubernetes, &request, NULL, NULL);
}

enum sandlot_status policy_ensure(struct sandlot_call *call, struct kubernetes *kubernetes)
{
    static const int missing[] = {404, 0};
    AUTO_DOCUMENT struct json_object *policy = NULL;
    struct api_request request = {
        .method = "GET", .target = api_path(kubernetes, POLICY_GROUP, POLICY_PLURAL, NAME), .accepted = missing};
    enum sandlot_status status = api_send(call, kubernetes, &request, NULL, &policy);

    if (status == SANDLOT_OK && !policy)
        status = create(call, kubernetes);
    else if (status == SANDLOT_OK && !denies_all(policy))
        status = sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                              "the NetworkPolicy " NAME
                              " in the namespace %.63s does not deny everything any more: somebody "
                              "changed it; delete it, and it is made anew",
                              access_namespace(&kubernetes->access));
    return status;
}

/* ---- what is asked for one sandbox ------------------------------------------------------------------------------- */

static enum sandlot_status refuse_claim(struct sandlot_call *call)
{
    return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                        "a sandbox of agent-sandbox has the network policy of its template; set it there, or use "
                        "engine=pods");
}

static enum sandlot_status check_pods(struct sandlot_call *call, const struct parameters *parameters,
                                      const struct sandlot_network *network)
{
    if (network->credential_count > 0)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "nothing adds a credential to the requests of a pod; leave it out for kubernetes");
    if (network->mode != SANDLOT_NETWORK_OPEN && !parameters->trust_network_policy)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "nothing tells whether this cluster enforces NetworkPolicies, without which a pod reaches "
                            "everything; say --param trust_network_policy=true if you know that it does");
    return allow_check(call, network);
}

enum sandlot_status policy_check(struct sandlot_call *call, const struct parameters *parameters,
                                 const struct sandlot_network *network)
{
    enum sandlot_status status = network_exclude(call, network, "network", strcmp(parameters->network, "none") != 0);

    if (status != SANDLOT_OK || !network)
        return status;
    return strcmp(parameters->engine, "agent-sandbox") == 0 ? refuse_claim(call)
                                                            : check_pods(call, parameters, network);
}

enum sandlot_status policy_change(struct sandlot_call *call, void *provider, void *handle,
                                  const struct sandlot_network *network)
{
    struct kubernetes *kubernetes = provider;
    const struct sandbox *sandbox = handle;
    enum sandlot_status status =
        sandbox->claim ? refuse_claim(call) : check_pods(call, &kubernetes->access.parameters, network);

    return status == SANDLOT_OK ? allow_change(call, kubernetes, network, sandbox->name) : status;
}

const char *policy_word(const struct parameters *parameters, const struct sandlot_network *network)
{
    if (!network)
        return parameters->network;
    return network->mode == SANDLOT_NETWORK_OPEN ? "open" : "none";
}

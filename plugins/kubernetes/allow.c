/*
 * Policies add up, so beside sandlot-deny-all each pod with a list has one more, under its own name and for its own
 * label, which opens that list. The pod is the owner: the cluster deletes the policy with it, whoever deletes the pod,
 * so no right to delete is needed. It is shared with nobody, so that no end of one sandbox takes what another needs.
 * Having the pod's uid it can only come after the pod, which is closed until then. A living pod gets another list by
 * another policy in its place, and one that was open its first: whoever is selected by any policy has what they open,
 * and nothing else.
 */
#include "allow.h"

#include "pod.h"
#include "policy.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

/* ---- networks ---------------------------------------------------------------------------------------------------- */

struct range {
    int family;
    unsigned char bytes[16];
    int bits;
};

/* Of links, and of the metadata services of clouds, which give away the node's own credentials. They are closed unless
 * one address of them is listed itself, with its port; see what `local` does. */
static const char *const closed[] = {"169.254.0.0/16",    "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32",
                                     "fd00:ec2::254/128", "fd20:ce::254/128",   "fe80::/10"};

enum { CLOSED_COUNT = sizeof(closed) / sizeof(*closed) };

/* TEXT is an address and its length, as the host writes them. */
static struct range read_range(const char *text)
{
    char address[INET6_ADDRSTRLEN];
    const char *slash = strchr(text, '/');
    struct range range = {.family = strchr(text, ':') ? AF_INET6 : AF_INET, .bits = slash ? atoi(slash + 1) : 0};

    snprintf(address, sizeof(address), "%.*s", (int)strcspn(text, "/"), text);
    inet_pton(range.family, address, range.bytes);
    return range;
}

/* Is all of NARROW in WIDE? */
static bool covers(const char *wide_text, const char *narrow_text)
{
    const struct range wide = read_range(wide_text);
    const struct range narrow = read_range(narrow_text);

    if (wide.family != narrow.family || wide.bits > narrow.bits)
        return false;
    for (int bit = 0; bit < wide.bits; bit++)
        if ((wide.bytes[bit / 8] ^ narrow.bytes[bit / 8]) & (0x80 >> bit % 8))
            return false;
    return true;
}

/* ---- what cannot be held ----------------------------------------------------------------------------------------- */

static bool is_name(const struct sandlot_network_entry *entry)
{
    return network_is(entry, NETWORK_NAMES);
}

static bool is_closed(const struct sandlot_network_entry *entry)
{
    const struct range range = read_range(entry->text);

    if (is_name(entry) || (entry->port && range.bits == (range.family == AF_INET ? 32 : 128)))
        return false;
    for (size_t i = 0; i < CLOSED_COUNT; i++)
        if (covers(closed[i], entry->text))
            return true;
    return false;
}

enum sandlot_status allow_check(struct sandlot_call *call, const struct sandlot_network *network)
{
    enum sandlot_status status =
        network_refuse(call, "Kubernetes", network, is_name, "a NetworkPolicy knows addresses alone; list those");

    return status == SANDLOT_OK
               ? network_refuse(call, "Kubernetes", network, is_closed,
                                "nodes and clouds answer there with credentials of their own; list single addresses, "
                                "each with its port, if a sandbox needs them")
               : status;
}

/* ---- the policy -------------------------------------------------------------------------------------------------- */

static void add_port(struct json_builder *rule, unsigned port)
{
    struct json_builder one = {0};

    json_set_string(&one, "protocol", "TCP");
    json_set_integer(&one, "port", port);
    rule->failed |= one.failed;
    json_set_value(rule, "ports[]", one.root);
}

static void add_entry(struct json_builder *body, const struct sandlot_network_entry *entry)
{
    struct json_builder rule = {0};

    json_set_string(&rule, "to[0].ipBlock.cidr", entry->text);
    for (size_t i = 0; i < CLOSED_COUNT; i++)
        if (covers(entry->text, closed[i]) && strcmp(entry->text, closed[i]) != 0)
            json_set_string(&rule, "to[0].ipBlock.except[]", closed[i]);
    add_port(&rule, entry->port ? entry->port : 80);
    if (!entry->port)
        add_port(&rule, 443);
    body->failed |= rule.failed;
    json_set_value(body, "spec.egress[]", rule.root);
}

/* What comes in is closed with what goes out, as sandlot-deny-all has it; a pod that is open has neither. */
static void describe(struct json_builder *body, const struct sandlot_network *network, struct json_object *pod)
{
    const char *name = api_text(pod, "metadata.name");

    json_set_string(body, "apiVersion", POLICY_GROUP);
    json_set_string(body, "kind", "NetworkPolicy");
    json_set_string(body, "metadata.name", name);
    json_set_member(body, "metadata.labels", POD_OWNER_KEY, POD_OWNER);
    json_set_string(body, "metadata.ownerReferences[0].apiVersion", "v1");
    json_set_string(body, "metadata.ownerReferences[0].kind", "Pod");
    json_set_string(body, "metadata.ownerReferences[0].name", name);
    json_set_string(body, "metadata.ownerReferences[0].uid", api_text(pod, "metadata.uid"));
    json_set_member(body, "spec.podSelector.matchLabels", POD_RUN_KEY,
                    api_text(pod, "metadata.labels.\"" POD_RUN_KEY "\""));
    json_set_string(body, "spec.policyTypes[]", "Egress");
    if (network->mode == SANDLOT_NETWORK_OPEN)
        json_set_value(body, "spec.egress[]", json_object_new_object());
    else
        json_set_string(body, "spec.policyTypes[]", "Ingress");
    for (size_t i = 0; i < network->entry_count; i++)
        add_entry(body, &network->entries[i]);
}

/* The name is taken: by the same request, whose answer was lost, or by what somebody else wants of this pod. */
static enum sandlot_status compare(struct sandlot_call *call, struct kubernetes *kubernetes, struct json_object *pod,
                                   struct json_object *wanted)
{
    AUTO_DOCUMENT struct json_object *policy = NULL;
    const char *name = api_text(pod, "metadata.name");
    struct api_request get = {.method = "GET", .target = api_path(kubernetes, POLICY_GROUP, POLICY_PLURAL, name)};
    enum sandlot_status status = api_send(call, kubernetes, &get, NULL, &policy);

    if (status != SANDLOT_OK || json_object_equal(json_object_object_get(policy, "spec"), wanted))
        return status;
    return sandlot_fail(call, SANDLOT_UNAVAILABLE,
                        "there is a NetworkPolicy %.63s that says something else than was asked for; try again", name);
}

enum sandlot_status allow_make(struct sandlot_call *call, struct kubernetes *kubernetes,
                               const struct sandlot_network *network, struct json_object *pod)
{
    static const int exists[] = {409, 0};
    AUTO_RESPONSE struct http_response response = {0};
    struct json_builder body = {0};

    if (!api_text(pod, "metadata.name") || !api_text(pod, "metadata.uid"))
        return sandlot_fail(call, SANDLOT_INTERNAL, "Kubernetes tells no name or uid of a new pod; is base_url right?");
    describe(&body, network, pod);
    AUTO_DOCUMENT struct json_object *wanted =
        body.root ? json_object_get(json_object_object_get(body.root, "spec")) : NULL;
    struct api_request post = {.method = "POST",
                               .target = api_path(kubernetes, POLICY_GROUP, POLICY_PLURAL, NULL),
                               .body = &body,
                               .accepted = exists};
    enum sandlot_status status = api_send(call, kubernetes, &post, &response, NULL);

    return status == SANDLOT_OK && response.status == 409 ? compare(call, kubernetes, pod, wanted) : status;
}

/* ---- a living pod ------------------------------------------------------------------------------------------------ */

static enum sandlot_status check_pod(struct sandlot_call *call, const char *name, struct json_object *pod)
{
    bool shares = false;

    if (!api_text(pod, "metadata.uid") || !api_text(pod, "metadata.labels.\"" POD_RUN_KEY "\""))
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "the pod %.63s was not made by Sandlot, which changes no policy of such pods; make a "
                            "sandbox of its own",
                            name);
    json_find_boolean(pod, "spec.hostNetwork", &shares, NULL);
    return shares ? sandlot_fail(call, SANDLOT_UNSUPPORTED,
                                 "the pod %.63s has the network of its node (hostNetwork), for which no NetworkPolicy "
                                 "holds; make a sandbox without it",
                                 name)
                  : SANDLOT_OK;
}

static bool has_rule(struct json_object *rules, struct json_object *rule)
{
    for (size_t i = 0; rules && i < json_object_array_length(rules); i++)
        if (json_object_equal(json_object_array_get_idx(rules, i), rule))
            return true;
    return false;
}

/* Is something that POD could reach, by its POLICY (NULL: it has none), not on the list any more? */
static bool narrows(struct json_object *pod, struct json_object *policy, struct json_object *wanted)
{
    const char *word = api_text(pod, "metadata.labels.\"" POD_NETWORK_KEY "\"");
    struct json_object *before = NULL;
    struct json_object *after = NULL;

    if (policy)
        json_find_array(policy, "spec.egress", &before, NULL);
    json_find_array(wanted, "spec.egress", &after, NULL);
    bool fewer = !policy && word && strcmp(word, "open") == 0;

    for (size_t i = 0; before && i < json_object_array_length(before); i++)
        fewer = fewer || !has_rule(after, json_object_array_get_idx(before, i));
    return fewer;
}

static enum sandlot_status replace(struct sandlot_call *call, struct kubernetes *kubernetes,
                                   const struct sandlot_network *network, struct json_object *pod,
                                   struct json_object *policy)
{
    struct json_builder body = {0};

    describe(&body, network, pod);
    const bool warn = network->mode != SANDLOT_NETWORK_OPEN && narrows(pod, policy, body.root);
    struct api_request request = {
        .method = policy ? "PUT" : "POST",
        .target = api_path(kubernetes, POLICY_GROUP, POLICY_PLURAL, policy ? api_text(pod, "metadata.name") : NULL),
        .body = &body};
    enum sandlot_status status = api_send(call, kubernetes, &request, NULL, NULL);

    if (status == SANDLOT_OK && warn)
        call->host->log(call, SANDLOT_LOG_WARNING,
                        "connections that the pod has open and that are not allowed any more end only if the "
                        "cluster's network plugin ends them; delete the sandbox if they must");
    return status;
}

enum sandlot_status allow_change(struct sandlot_call *call, struct kubernetes *kubernetes,
                                 const struct sandlot_network *network, const char *name)
{
    static const int missing[] = {404, 0};
    AUTO_DOCUMENT struct json_object *pod = NULL;
    AUTO_DOCUMENT struct json_object *policy = NULL;
    struct api_request look = {.method = "GET", .target = api_path(kubernetes, NULL, "pods", name)};
    enum sandlot_status status = api_send(call, kubernetes, &look, NULL, &pod);

    if (status == SANDLOT_OK)
        status = check_pod(call, name, pod);
    if (status != SANDLOT_OK)
        return status;
    struct api_request get = {
        .method = "GET", .target = api_path(kubernetes, POLICY_GROUP, POLICY_PLURAL, name), .accepted = missing};

    status = api_send(call, kubernetes, &get, NULL, &policy);
    return status == SANDLOT_OK ? replace(call, kubernetes, network, pod, policy) : status;
}

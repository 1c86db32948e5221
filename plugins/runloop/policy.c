#include "policy.h"

#include "record.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/digest.h>

#include <string.h>

/* Of policies that we make; what follows is a digest. */
#define NAME_PREFIX "sandlot-"

enum { NAME_DIGITS = 32, NAME_SIZE = sizeof(NAME_PREFIX) + NAME_DIGITS, COLLECT_MS = 10 * 1000 };

static const char list_target[] = "/v1/network-policies?limit=100&name={}";

enum sandlot_status policy_check(struct sandlot_call *call, const struct runloop *runloop,
                                 const struct sandlot_network *network)
{
    static const struct network_limits limits = {.service = "Runloop", .no_ipv6 = true, .no_ports = true};
    enum sandlot_status status =
        network_exclude(call, network, "network_policy_id", parameter_is_said(runloop->parameters.network_policy_id));

    return status == SANDLOT_OK ? network_check(call, &limits, network) : status;
}

/* ---- what it says ------------------------------------------------------------------------------------------------ */

/* Of addresses the ports can be said: those two that an entry without a port means. */
static void add_network(struct json_builder *body, const char *text)
{
    struct json_builder one = {0};

    json_set_string(&one, "cidr", text);
    json_set_integer(&one, "ports[].port", 80);
    json_set_integer(&one, "ports[].port", 443);
    json_set_built(body, "allowed_cidrs[]", &one);
}

/* Without its name: what the digest is of. */
static void write_contents(struct json_builder *body, const struct sandlot_network *network)
{
    const bool open = network->mode == SANDLOT_NETWORK_OPEN;

    json_set_boolean(body, "allow_all", open);
    json_set_boolean(body, "allow_devbox_to_devbox", false);
    json_set_boolean(body, "allow_agent_gateway", false);
    json_set_boolean(body, "allow_mcp_gateway", false);
    json_set_boolean(body, "allow_runloop_mirrors", false);
    network_add(body, "allowed_hostnames", network, NETWORK_NAMES);
    json_set_array(body, "allowed_cidrs");
    for (size_t i = 0; i < network->entry_count; i++)
        if (network_is(&network->entries[i], NETWORK_CIDRS))
            add_network(body, network->entries[i].text);
}

static bool name_contents(const char *contents, char name[NAME_SIZE])
{
    char digits[DIGEST_SIZE];

    if (!digest_of(contents, strlen(contents), digits))
        return false;
    snprintf(name, NAME_SIZE, NAME_PREFIX "%.*s", NAME_DIGITS, digits);
    return true;
}

/* The body of a creation, to be freed, and its name. */
static char *write_body(const struct sandlot_network *network, char name[NAME_SIZE])
{
    struct json_builder body = {0};
    struct json_builder named = {0};

    write_contents(&body, network);
    AUTO_FREE char *contents = json_finish(&body, NULL);

    if (!contents || !name_contents(contents, name))
        return NULL;
    named.root = json_read_document(contents, strlen(contents), NULL);
    named.failed = !named.root;
    json_set_string(&named, "name", name);
    json_set_string(&named, "description", "Made by Sandlot for the devboxes that ask for it");
    return json_finish(&named, NULL);
}

/* ---- finding and making ------------------------------------------------------------------------------------------ */

static enum sandlot_status keep_id(struct sandlot_call *call, struct json_object *policy, char **id)
{
    struct json_error error;
    const char *text;

    if (!json_read_string(policy, "id", &text, &error))
        return json_fail(call, "Runloop's answer about a network policy", &error);
    *id = strdup(text);
    return *id ? SANDLOT_OK : http_no_memory(call);
}

/* *ID stays NULL if there is none. Names are unique; the filter may find more than just this one. */
static enum sandlot_status look_up(struct sandlot_call *call, struct runloop *runloop, const char *name, char **id)
{
    AUTO_PAGE struct page page = {0};
    enum sandlot_status status =
        page_get(call, runloop, http_target(list_target, name), "network_policies", NULL, &page);

    return status == SANDLOT_OK ? page_keep_id(call, &page, name, id) : status;
}

/* Another one may make the same at this moment: then the name is taken, and leads to it. */
static enum sandlot_status make(struct sandlot_call *call, struct runloop *runloop, const char *name, const char *body,
                                char **id)
{
    static const int refusals[] = {400, 409, 422, 0};
    const struct http_request request = {.method = "POST",
                                         .target = "/v1/network-policies",
                                         .body = {.bytes = body, .length = strlen(body)},
                                         .accepted = refusals,
                                         .repeatable = true};
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct http_client *client;
    enum sandlot_status status = api_send(call, runloop, &request, NULL, &response, &answer);

    if (status != SANDLOT_OK)
        return status;
    if (answer)
        return keep_id(call, answer, id);
    status = look_up(call, runloop, name, id);
    if (status != SANDLOT_OK || *id)
        return status;
    status = api_client(call, runloop, &client);
    return status == SANDLOT_OK ? http_response_fail(call, client, NULL, &response) : status;
}

enum sandlot_status policy_find(struct sandlot_call *call, struct runloop *runloop,
                                const struct sandlot_network *network, char **id)
{
    char name[NAME_SIZE];

    if (!network)
        return SANDLOT_OK;
    AUTO_FREE char *body = write_body(network, name);

    if (!body)
        return http_no_memory(call);
    enum sandlot_status status = look_up(call, runloop, name, id);

    return status == SANDLOT_OK && !*id ? make(call, runloop, name, body, id) : status;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static bool is_ours(struct sandlot_call *call, struct runloop *runloop, const char *id)
{
    static const int not_there[] = {404, 0};
    const struct api_order order = {
        .method = "GET", .target = http_target("/v1/network-policies/{}", id), .accepted = not_there};
    AUTO_DOCUMENT struct json_object *document = NULL;
    const char *name = "";

    if (api_send_order(call, runloop, &order, NULL, &document) == SANDLOT_OK && document)
        json_find_string(document, "name", &name, NULL);
    return strlen(name) == NAME_SIZE - 1 && strncmp(name, NAME_PREFIX, strlen(NAME_PREFIX)) == 0;
}

/* Does a devbox of PAGE live with policy ID? */
static bool page_uses(struct sandlot_call *call, const struct page *page, const char *id)
{
    for (size_t i = 0; i < json_object_array_length(page->items); i++) {
        struct json_object *item = json_object_array_get_idx(page->items, i);
        AUTO_RECORD struct record record = {0};
        const char *policy = "";

        json_find_string(item, "launch_parameters.network_policy_id", &policy, NULL);
        if (strcmp(policy, id) == 0 && (record_read(call, item, &record) != SANDLOT_OK || record.phase != PHASE_GONE))
            return true;
    }
    return false;
}

/* What cannot be told is used. */
static bool is_used(struct sandlot_call *call, struct runloop *runloop, const char *id)
{
    AUTO_FREE char *cursor = NULL;

    for (;;) {
        AUTO_PAGE struct page page = {0};
        enum sandlot_status status =
            page_get(call, runloop, http_target(RECORD_LIST_TARGET), "devboxes", cursor, &page);

        if (status != SANDLOT_OK || page_uses(call, &page, id))
            return true;
        if (!page.next)
            return false;
        free(cursor);
        cursor = strdup(page.next);
        if (!cursor)
            return true;
    }
}

void policy_collect(struct sandlot_call *call, struct runloop *runloop, const char *id)
{
    static const int refusals[] = {400, 404, 409, 0}; /* somebody has just begun to use it, or has deleted it */
    struct attempt attempt;

    attempt_begin(&attempt, call, COLLECT_MS);
    if (!is_ours(&attempt.call, runloop, id) || is_used(&attempt.call, runloop, id))
        return;
    const struct api_order order = {
        .method = "POST", .target = http_target("/v1/network-policies/{}/delete", id), .accepted = refusals};

    if (api_send_order(&attempt.call, runloop, &order, NULL, NULL) != SANDLOT_OK)
        call->host->log(call, SANDLOT_LOG_WARNING,
                        "a network policy that no devbox uses any more is left at Runloop: delete it there");
}

#include "lifecycle.h"

#include "claim.h"
#include "pod.h"

#include <sandlot/sdk/timestamp.h>

#include <stdlib.h>
#include <string.h>

#define PAGE "500"
#define PODS "pods:"
#define CLAIMS "claims:"

/* ---- deleting ---------------------------------------------------------------------------------------------------- */

enum sandlot_status lifecycle_delete(struct sandlot_call *call, void *provider, const char *id)
{
    static const int gone[] = {404, 0};
    struct kubernetes *kubernetes = provider;
    const char *name;
    bool claim = sandbox_is_claim(id, &name);
    enum sandlot_status status = access_settle(call, &kubernetes->access);

    if (status != SANDLOT_OK || !api_is_name(name))
        return status; /* no object has such a name */
    struct api_request request = {
        .method = "DELETE",
        .target = api_path(kubernetes, claim ? CLAIM_GROUP : NULL, claim ? CLAIM_PLURAL : "pods", name),
        .accepted = gone};

    if (request.target && !claim)
        http_target_add(&request.target, "gracePeriodSeconds", "1");
    return api_send(call, kubernetes, &request, NULL, NULL);
}

/* ---- listing ----------------------------------------------------------------------------------------------------- */

static const char *pod_state(struct json_object *pod)
{
    char reason[400];

    switch (pod_read(pod, reason, sizeof(reason))) {
    case POD_READY:
        return "running";
    case POD_STARTING:
        return "starting";
    default:
        return "ended";
    }
}

static enum sandlot_status add(struct sandlot_call *call, const struct sandlot_listing *listing,
                               struct json_object *item, bool claim)
{
    AUTO_FREE char *id = NULL;
    struct json_error error;
    const char *name;

    if (!json_object_is_type(item, json_type_object) || !json_read_string(item, "metadata.name", &name, &error))
        return sandlot_fail(call, SANDLOT_INTERNAL, "Kubernetes' list has an item without a name; is base_url right?");
    if (api_text(item, "metadata.deletionTimestamp"))
        return SANDLOT_OK;
    if (asprintf(&id, "%s%s", claim ? CLAIM_PREFIX : "", name) < 0) {
        id = NULL;
        return http_no_memory(call);
    }
    const struct sandlot_listed listed = {.size = sizeof(listed),
                                          .id = id,
                                          .state = claim ? claim_state(item) : pod_state(item),
                                          .created_at_ms = timestamp_read(api_text(item, "metadata.creationTimestamp")),
                                          .run_label = api_text(item, "metadata.labels.\"" POD_RUN_KEY "\"")};

    return listing->add(listing, &listed);
}

static enum sandlot_status list_some(struct sandlot_call *call, struct kubernetes *kubernetes, bool claims,
                                     const char *token, const struct sandlot_listing *listing, char **next)
{
    static const int none[] = {404, 0};
    static const int expired[] = {410, 0};
    AUTO_DOCUMENT struct json_object *page = NULL;
    AUTO_RESPONSE struct http_response response = {0};
    struct json_object *items = NULL;
    struct json_error error;
    bool may_lack = claims && strcmp(kubernetes->access.parameters.engine, "auto") == 0;
    static const int lacking[] = {403, 404, 410, 0};
    struct api_request request = {
        .method = "GET",
        .target = api_path(kubernetes, claims ? CLAIM_GROUP : NULL, claims ? CLAIM_PLURAL : "pods", NULL),
        .accepted = may_lack ? lacking
                    : *token ? expired
                    : claims ? none
                             : NULL};

    if (request.target && http_target_add(&request.target, "labelSelector", POD_OWNER_KEY "=" POD_OWNER) &&
        http_target_add(&request.target, "limit", PAGE))
        http_target_add(&request.target, "continue", *token ? token : NULL);
    enum sandlot_status status = api_send(call, kubernetes, &request, &response, &page);

    if (status == SANDLOT_OK && response.status == 410)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE,
                            "Kubernetes has forgotten this list, which was read too slowly; list anew");
    if (status != SANDLOT_OK || !page)
        return status;
    if (!json_read_array(page, "items", &items, &error))
        return json_fail(call, "Kubernetes' list", &error);
    for (size_t i = 0; status == SANDLOT_OK && i < json_object_array_length(items); i++)
        status = add(call, listing, json_object_array_get_idx(items, i), claims);
    const char *more = api_text(page, "metadata.continue");

    *next = more ? strdup(more) : NULL;
    return more && !*next ? http_no_memory(call) : status;
}

/* Pods first, then claims; the cursor says which, and where. */
enum sandlot_status lifecycle_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing)
{
    struct kubernetes *kubernetes = provider;
    enum sandlot_status status = access_settle(call, &kubernetes->access);
    bool only_pods = strcmp(kubernetes->access.parameters.engine, "pods") == 0;
    bool claims = cursor ? strncmp(cursor, CLAIMS, strlen(CLAIMS)) == 0
                         : strcmp(kubernetes->access.parameters.engine, "agent-sandbox") == 0;
    AUTO_FREE char *next = NULL;
    AUTO_FREE char *following = NULL;

    if (status != SANDLOT_OK)
        return status;
    if (cursor && !claims && strncmp(cursor, PODS, strlen(PODS)) != 0)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "this is no place in a list of Kubernetes; list from the beginning");
    status = list_some(call, kubernetes, claims, cursor ? strchr(cursor, ':') + 1 : "", listing, &next);
    if (status != SANDLOT_OK)
        return status;
    if (!next && (claims || only_pods))
        return SANDLOT_OK;
    if (asprintf(&following, "%s%s", claims || !next ? CLAIMS : PODS, next ? next : "") < 0) {
        following = NULL;
        return http_no_memory(call);
    }
    listing->next(listing, following);
    return SANDLOT_OK;
}

/* ---- pausing ----------------------------------------------------------------------------------------------------- */

typedef enum sandlot_status (*change_function)(struct sandlot_call *call, struct kubernetes *kubernetes,
                                               const char *name);

static enum sandlot_status change(struct sandlot_call *call, struct kubernetes *kubernetes, const char *id,
                                  change_function work)
{
    const char *name;
    bool claim = sandbox_is_claim(id, &name);
    enum sandlot_status status = access_settle(call, &kubernetes->access);

    if (status != SANDLOT_OK)
        return status;
    return claim ? work(call, kubernetes, name)
                 : sandlot_fail(call, SANDLOT_UNSUPPORTED,
                                "a pod cannot be paused; agent-sandbox can, with templates that have volume claims");
}

enum sandlot_status lifecycle_pause(struct sandlot_call *call, void *provider, const char *id)
{
    return change(call, provider, id, claim_pause);
}

enum sandlot_status lifecycle_resume(struct sandlot_call *call, void *provider, const char *id)
{
    return change(call, provider, id, claim_resume);
}

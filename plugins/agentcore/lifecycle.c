#include "lifecycle.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/http.h>
#include <sandlot/sdk/json.h>
#include <sandlot/sdk/rest.h>

#include <string.h>

enum { PAGE = 100 };

static const char own_names[] = "sandlot-";
static const char listing_fault[] = "AgentCore's list of sessions";

/* ---- deleting ---------------------------------------------------------------------------------------------------- */

/* A session that has ended is not found, in conflict, or stopped once more. */
enum sandlot_status lifecycle_delete(struct sandlot_call *call, void *provider, const char *id)
{
    static const int ended[] = {404, 409, 0};
    const struct api_request request = {
        .method = "PUT", .operation = "/sessions/stop", .session = id, .body = "{}", .length = 2, .accepted = ended};
    enum sandlot_status status = SANDLOT_OK;

    if (!api_is_session(id))
        return SANDLOT_OK;
    /* Where the answer makes no sense, it may be that of somebody on the way; to stop it once more does no harm. */
    for (int attempt = 1; attempt <= 2; attempt++) {
        AUTO_RESPONSE struct http_response response = {0};
        AUTO_DOCUMENT struct json_object *answer = NULL;

        status = api_ask(call, provider, &request, &response, &answer);
        if (status != SANDLOT_INTERNAL || response.status >= 300)
            return status;
    }
    return status;
}

/* ---- listing ----------------------------------------------------------------------------------------------------- */

/* One page. Without a status there would be sessions of a whole month. */
static enum sandlot_status ask_page(struct sandlot_call *call, struct agentcore *agentcore, const char *cursor,
                                    struct json_object **answer, struct json_object **items, const char **next)
{
    struct json_builder body = {0};
    AUTO_RESPONSE struct http_response response = {0};
    struct json_error error;

    json_set_string(&body, "status", "READY");
    json_set_integer(&body, "maxResults", PAGE);
    json_set_string(&body, "nextToken", cursor);
    AUTO_FREE char *text = json_finish(&body, NULL);

    if (!text)
        return http_no_memory(call);
    const struct api_request request = {
        .method = "POST", .operation = "/sessions/list", .body = text, .length = strlen(text)};
    enum sandlot_status status = api_ask(call, agentcore, &request, &response, answer);

    if (status != SANDLOT_OK)
        return status;
    return json_read_array(*answer, "items", items, &error) && json_find_string(*answer, "nextToken", next, &error)
               ? SANDLOT_OK
               : json_fail(call, listing_fault, &error);
}

/* A name that is not ours is no label. */
static bool tell_ready(struct json_object *item, struct sandlot_listed *listed)
{
    (void)item;
    if (listed->run_label && strncmp(listed->run_label, own_names, strlen(own_names)) != 0)
        listed->run_label = NULL;
    bool ready = strcmp(listed->state, "READY") == 0;

    listed->state = "ready";
    return ready;
}

enum sandlot_status lifecycle_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing)
{
    static const struct rest_entry entry = {.what = listing_fault,
                                            .id = "sessionId",
                                            .created_at = "createdAt",
                                            .run_label = "name",
                                            .state = "status",
                                            .usual_state = "READY",
                                            .adapt = tell_ready};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct json_object *items = NULL;
    const char *next = NULL;
    enum sandlot_status status = ask_page(call, provider, cursor, &answer, &items, &next);

    return status == SANDLOT_OK ? rest_list_entries(call, listing, items, next, &entry) : status;
}

/* ---- finding ----------------------------------------------------------------------------------------------------- */

/* Looks for NAME in one page. *CURSOR, to be freed: where the next one begins; NULL: there is none. */
static enum sandlot_status find_in_page(struct sandlot_call *call, struct agentcore *agentcore, const char *name,
                                        char **cursor, char **id)
{
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct json_object *items = NULL;
    const char *next = NULL;
    enum sandlot_status status = ask_page(call, agentcore, *cursor, &answer, &items, &next);

    free(*cursor);
    *cursor = NULL;
    struct json_object *item = status == SANDLOT_OK ? json_find_element(items, "name", name) : NULL;
    const char *found = NULL;

    if (item && json_read_string(item, "sessionId", &found, NULL) && api_is_session(found))
        *id = strdup(found);
    if (status == SANDLOT_OK && next && *next)
        *cursor = strdup(next);
    return status;
}

enum sandlot_status lifecycle_find(struct sandlot_call *call, struct agentcore *agentcore, const char *name, char **id)
{
    AUTO_FREE char *cursor = NULL;
    enum sandlot_status status = SANDLOT_OK;

    do
        status = find_in_page(call, agentcore, name, &cursor, id);
    while (status == SANDLOT_OK && cursor && !*id);
    return status;
}

#include "lifecycle.h"

#include "create.h"

#include <sandlot/sdk/network.h>
#include <sandlot/sdk/timestamp.h>

#include <string.h>

enum { SECOND_MS = 1000, LEAST_SECONDS = 300 };

/* ---- deleting ---------------------------------------------------------------------------------------------------- */

static enum sandlot_status delete_at(struct sandlot_call *call, struct e2b *e2b, const char *pattern, const char *id)
{
    static const int not_there[] = {404, 0};
    const struct api_request request = {.method = "DELETE", .pattern = pattern, .id = id, .accepted = not_there};
    AUTO_RESPONSE struct http_response response = {0};

    return api_send(call, e2b, &request, &response, NULL);
}

enum sandlot_status lifecycle_delete(struct sandlot_call *call, void *provider, const char *id)
{
    return api_is_id(id) ? delete_at(call, provider, "/sandboxes/{}", id) : SANDLOT_OK;
}

/* ---- listing ----------------------------------------------------------------------------------------------------- */

enum sandlot_status lifecycle_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing)
{
    static const struct rest_entry entry = {.what = "E2B's list of sandboxes",
                                            .items = "",
                                            .id = "sandboxID",
                                            .created_at = "startedAt",
                                            .run_label = "metadata.\"" KEY_RUN "\"",
                                            .state = "state"};

    return api_list(call, provider, "/v2/sandboxes?limit=100", cursor, listing, &entry);
}

/* ---- pausing and resuming ---------------------------------------------------------------------------------------- */

/* 409 is the answer for what is paused already, and for what is in the middle of another change. */
enum sandlot_status lifecycle_pause(struct sandlot_call *call, void *provider, const char *id)
{
    static const int busy[] = {409, 0};
    struct e2b *e2b = provider;
    AUTO_RECORD struct record record = {0};
    AUTO_RESPONSE struct http_response response = {0};
    struct json_builder body = {0};
    const struct api_request request = {.method = "POST",
                                        .pattern = "/sandboxes/{}/pause",
                                        .id = id,
                                        .body = &body,
                                        .repeatable = true,
                                        .accepted = busy};

    json_set_boolean(&body, "memory", e2b->parameters.keep_memory);
    enum sandlot_status status = api_send(call, e2b, &request, &response, NULL);

    if (status != SANDLOT_OK || response.status < 300)
        return status;
    status = record_get(call, e2b, id, &record);
    return status != SANDLOT_OK || record.paused
               ? status
               : sandlot_fail(call, SANDLOT_UNAVAILABLE,
                              "E2B's sandbox '%.128s' is in the middle of another change; pause it a little later", id);
}

/* For as long as it was to rest at first. */
enum sandlot_status lifecycle_resume(struct sandlot_call *call, void *provider, const char *id)
{
    AUTO_RECORD struct record record = {0};
    enum sandlot_status status = record_get(call, provider, id, &record);

    if (status != SANDLOT_OK || !record.paused)
        return status;
    return record_connect(call, provider, id, record.rest_ms >= SECOND_MS ? record.rest_ms / SECOND_MS : LEAST_SECONDS,
                          NULL);
}

/* ---- what is made of a running one ------------------------------------------------------------------------------- */

/*
 * POST to PATTERN of sandbox ID. What is paused cannot be copied, and the answer for it is that it is not there, or
 * busy; so it is woken first.
 */
static enum sandlot_status make_of(struct sandlot_call *call, struct e2b *e2b, struct api_request *request,
                                   struct json_object **answer)
{
    static const int refusals[] = {404, 409, 0};
    const struct json_builder again = {.root = json_object_get(request->body->root), .failed = request->body->failed};
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_RESPONSE struct http_response second = {0};

    request->method = "POST";
    request->accepted = refusals;
    enum sandlot_status status = api_send(call, e2b, request, &response, answer);

    if (status == SANDLOT_OK && !*answer) {
        request->accepted = NULL;
        *request->body = again;
        status = lifecycle_resume(call, e2b, request->id);
        if (status == SANDLOT_OK)
            return api_send(call, e2b, request, &second, answer); /* finishes it */
    }
    json_object_put(again.root);
    return status;
}

/* The copy has the metadata of its original: E2B takes none for it. */
static enum sandlot_status tell_copy(struct sandlot_call *call, struct json_object *answer)
{
    const char *id = NULL;
    const char *why = NULL;
    struct json_error error;

    json_find_string(answer, "[0].error.message", &why, NULL);
    if (why)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "E2B could not start the copy: %.200s; try again", why);
    if (!json_read_string(answer, "[0].sandbox.sandboxID", &id, &error))
        return json_fail(call, "E2B's answer about a copy", &error);
    call->host->created(call, id, NULL);
    return SANDLOT_OK;
}

enum sandlot_status lifecycle_fork(struct sandlot_call *call, void *provider, const char *id,
                                   const struct sandlot_create *request)
{
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct json_builder body = {0};
    struct api_request order = {.pattern = "/sandboxes/{}/fork", .id = id, .body = &body};

    enum sandlot_status status = network_refuse_fork(call, E2B_SERVICE, request);

    if (status != SANDLOT_OK)
        return status;
    json_set_integer(&body, "timeout", create_seconds(provider, request));
    json_set_integer(&body, "count", 1);
    status = make_of(call, provider, &order, &answer);
    return status == SANDLOT_OK ? tell_copy(call, answer) : status;
}

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

/* Of one name there is one: a request that is sent again makes it anew. */
enum sandlot_status snapshots_make(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                   const struct sandlot_sink *result)
{
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct json_builder body = {0};
    struct json_error error;
    const char *kept;
    struct api_request order = {
        .pattern = "/sandboxes/{}/snapshots", .id = id, .body = &body, .repeatable = name != NULL};

    json_set_object(&body, "");
    json_set_string(&body, "name", name);
    enum sandlot_status status = make_of(call, provider, &order, &answer);

    if (status != SANDLOT_OK)
        return status;
    if (!json_read_string(answer, "snapshotID", &kept, &error))
        return json_fail(call, "E2B's answer about a snapshot", &error);
    return result->write(result, kept, strlen(kept));
}

/* What a snapshot, "TEAM/NAME:TAG", was called when it was made. */
static bool tell_name(struct json_object *item, struct sandlot_listed *listed)
{
    const char *slash = strrchr(listed->id, '/');
    const char *name = slash ? slash + 1 : listed->id;
    struct json_object *text = json_object_new_string_len(name, (int)strcspn(name, ":"));

    listed->run_label = text ? json_object_get_string(text) : NULL;
    json_object_object_add(item, "name of snapshot", text);
    return true;
}

enum sandlot_status snapshots_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing)
{
    static const struct rest_entry entry = {.what = "E2B's list of snapshots",
                                            .items = "",
                                            .id = "snapshotID",
                                            .usual_state = "created",
                                            .adapt = tell_name};

    return api_list(call, provider, "/snapshots?limit=100", cursor, listing, &entry);
}

static bool is_called(const char *id, const char *name)
{
    const char *slash = strchr(name, '/') ? NULL : strrchr(id, '/');
    const char *own = slash ? slash + 1 : id;
    const size_t length = strlen(name);

    return strncmp(own, name, length) == 0 && (own[length] == ':' || own[length] == '\0');
}

/* The id of the snapshot NAME is written to *ID, the document's; NULL: there is none. */
static enum sandlot_status find_snapshot(struct sandlot_call *call, struct e2b *e2b, const char *name,
                                         struct json_object **document, const char **id)
{
    const struct api_request request = {.method = "GET", .pattern = "/snapshots?name={}", .id = name};
    AUTO_RESPONSE struct http_response response = {0};
    enum sandlot_status status = api_send(call, e2b, &request, &response, document);

    if (status == SANDLOT_OK && (!json_read_string(*document, "[0].snapshotID", id, NULL) || !is_called(*id, name)))
        *id = NULL; /* also where the service lists others: one that is not meant must not go */
    return status;
}

/* An id has a colon. What has none is the name that a snapshot was made with, and may be that of a template, too: those
 * are not ours to delete. */
enum sandlot_status snapshots_delete(struct sandlot_call *call, void *provider, const char *name)
{
    AUTO_DOCUMENT struct json_object *answer = NULL;
    const char *id = name;
    enum sandlot_status status = strchr(name, ':') ? SANDLOT_OK : find_snapshot(call, provider, name, &answer, &id);

    return status == SANDLOT_OK && id ? delete_at(call, provider, "/templates/{}", id) : status;
}

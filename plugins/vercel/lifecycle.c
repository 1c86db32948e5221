#include "lifecycle.h"

#include "create.h"
#include "policy.h"
#include "snapshots.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/pause.h>
#include <string.h>

enum { CHANGE_MS = 300 * 1000 };

/* ---- deleting ---------------------------------------------------------------------------------------------------- */

enum sandlot_status lifecycle_delete(struct sandlot_call *call, void *provider, const char *id)
{
    static const int answers[] = {404, 409, 410, 422, 0};
    struct vercel *vercel = provider;
    struct pause pause = {.service = VERCEL_SERVICE, .limit_ms = CHANGE_MS};
    enum sandlot_status status = api_open(call, vercel);
    bool doubted = false;

    while (status == SANDLOT_OK) {
        AUTO_RESPONSE struct http_response response = {0};
        AUTO_DOCUMENT struct json_object *answer = NULL;
        struct rest_request request = {
            .method = "DELETE", .target = http_target("/v2/sandboxes/{}", id), .accepted = answers};

        if (request.target && vercel->parameters.delete_snapshots)
            http_target_add(&request.target, "deleteOrphanSnapshots", "true");
        status = api_send(call, vercel, API_NAME, &request, &response, &answer);
        /* What makes no sense may be of somebody on the way; if it is not, then the sandbox is not there any more. */
        if (status == SANDLOT_INTERNAL && response.status >= 200 && response.status < 300 && !doubted) {
            doubted = true;
            status = SANDLOT_OK;
            continue;
        }
        if (status == SANDLOT_OK && response.status < 300)
            return status;
        if (status != SANDLOT_OK || response.status == 404)
            return status;
        if (!pause_again(call, &pause, &status) && status == SANDLOT_OK)
            return sandlot_fail(call, SANDLOT_UNAVAILABLE,
                                "Vercel's sandbox '%.128s' is in the middle of another change that does not end; "
                                "delete it later",
                                id);
    }
    return status;
}

/* ---- listing ----------------------------------------------------------------------------------------------------- */

/* One that has stopped for good has lost its files. */
static bool tell_paused(struct json_object *item, struct sandlot_listed *listed)
{
    bool persistent = false;

    json_find_boolean(item, "persistent", &persistent, NULL);
    if (persistent && strcmp(listed->state, "stopped") == 0)
        listed->state = "paused";
    return true;
}

enum sandlot_status lifecycle_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing)
{
    static const struct rest_entry entry = {.what = "Vercel's list of sandboxes",
                                            .items = "sandboxes",
                                            .next = API_NEXT,
                                            .id = "name",
                                            .created_at = "createdAt",
                                            .run_label = "tags.\"" TAG_RUN "\"",
                                            .state = "status",
                                            .adapt = tell_paused};

    return api_list(call, provider, "/v2/sandboxes?limit=50", cursor, listing, &entry);
}

/* ---- pausing and resuming ---------------------------------------------------------------------------------------- */

/* The end of a session throws the files of a sandbox away, unless it is persistent by then. */
static enum sandlot_status make_persistent(struct sandlot_call *call, struct vercel *vercel, const char *name)
{
    struct json_builder body = {0};
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *answer = NULL;

    json_set_boolean(&body, "persistent", true);
    struct rest_request request = {
        .method = "PATCH", .target = http_target("/v2/sandboxes/{}", name), .body = &body, .repeatable = true};

    return api_send(call, vercel, API_NAME, &request, &response, &answer);
}

static enum sandlot_status stop_session(struct sandlot_call *call, struct vercel *vercel, const char *session)
{
    static const int over[] = {404, 409, 410, 422, 0};
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct rest_request request = {.method = "POST",
                                   .target = http_target("/v2/sandboxes/sessions/{}/stop", session),
                                   .repeatable = true,
                                   .accepted = over};

    return api_send(call, vercel, API_SESSION, &request, &response, &answer);
}

/* Waits until the session is over. */
static enum sandlot_status wait_for_end(struct sandlot_call *call, struct vercel *vercel, const char *name,
                                        struct record *record)
{
    enum sandlot_status status = sandbox_wait_for(call, vercel, name, PHASE_ENDED, record);

    if (status != SANDLOT_OK || record_keeps_files(record))
        return status;
    return sandlot_fail(call, SANDLOT_NOT_FOUND,
                        "the session of Vercel's sandbox '%.128s' was over before its files could be kept; create "
                        "another one",
                        name);
}

enum sandlot_status lifecycle_pause(struct sandlot_call *call, void *provider, const char *id)
{
    AUTO_RECORD struct record record = {0};
    AUTO_RECORD struct record ended = {0};
    enum sandlot_status status = api_open(call, provider);

    if (status == SANDLOT_OK)
        status = record_get(call, provider, id, &record);
    if (status != SANDLOT_OK)
        return status;
    if (record.phase == PHASE_RUNNING || record.phase == PHASE_STARTING) {
        if (!record.persistent)
            status = make_persistent(call, provider, id);
        if (status == SANDLOT_OK)
            status = stop_session(call, provider, record.session);
    }
    return status == SANDLOT_OK ? wait_for_end(call, provider, id, &ended) : status;
}

enum sandlot_status lifecycle_resume(struct sandlot_call *call, void *provider, const char *id)
{
    AUTO_RECORD struct record record = {0};
    enum sandlot_status status = api_open(call, provider);

    return status == SANDLOT_OK ? sandbox_start(call, provider, id, &record) : status;
}

/* ---- forking ----------------------------------------------------------------------------------------------------- */

static enum sandlot_status make_fork(struct sandlot_call *call, struct vercel *vercel, const char *id,
                                     const struct sandlot_create *request, struct record *record)
{
    struct json_builder body = {0};
    char refusal[64];

    json_set_integer(&body, "timeout", create_timeout_ms(&vercel->parameters, request));
    json_set_boolean(&body, "persistent", vercel->parameters.persistent);
    if (network_asked(request))
        policy_set(&body, network_asked(request));
    enum sandlot_status status =
        create_set_name(call, vercel, request, api_milliseconds(vercel->parameters.session_maximum_s), &body);
    struct rest_request order = {.target = http_target("/v2/sandboxes/{}/fork", id), .body = &body};

    if (status != SANDLOT_OK)
        return rest_drop(&order, status);
    status = create_send(call, vercel, API_NAME, &order, request->run_label, record, refusal);
    return status == SANDLOT_OK && !record->document
               ? sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                              "Vercel refuses so long a session for the copy (%s); set ttl_s to what your plan allows",
                              refusal)
               : status;
}

/* A copy starts from the last snapshot of its original; so one is made first, which ends the original's session. */
enum sandlot_status lifecycle_fork(struct sandlot_call *call, void *provider, const char *id,
                                   const struct sandlot_create *request)
{
    AUTO_RECORD struct record record = {0};
    AUTO_RECORD struct record running = {0};
    AUTO_FREE char *snapshot = NULL;
    enum sandlot_status status = policy_check(call, provider, network_asked(request));

    if (status == SANDLOT_OK)
        status = api_open(call, provider);
    if (status == SANDLOT_OK)
        status = snapshots_take(call, provider, id, &snapshot);
    if (status == SANDLOT_OK)
        status = make_fork(call, provider, id, request, &record);
    return status == SANDLOT_OK ? sandbox_wait_for(call, provider, record.name, PHASE_RUNNING, &running) : status;
}

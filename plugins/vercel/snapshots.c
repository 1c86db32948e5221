#include "snapshots.h"

#include <sandlot/sdk/cleanup.h>
#include <string.h>

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* The id of the snapshot in an answer, to be freed. */
static enum sandlot_status take_id(struct sandlot_call *call, struct json_object *answer, char **id)
{
    const char *text = NULL;
    const char *state = NULL;
    struct json_error error;

    if (!json_read_string(answer, "snapshot.id", &text, &error) ||
        !json_find_string(answer, "snapshot.status", &state, &error))
        return json_fail(call, "Vercel's answer about a snapshot", &error);
    if (state && strcmp(state, "failed") == 0)
        return sandlot_fail(call, SANDLOT_INTERNAL,
                            "Vercel could not make the snapshot and does not say why; try again");
    *id = strdup(text);
    return *id ? SANDLOT_OK : http_no_memory(call);
}

/* A session that is over has left its snapshot already, as has one that was being kept when another request came. */
static enum sandlot_status take_last(struct sandlot_call *call, struct vercel *vercel, const char *name, char **id)
{
    AUTO_RECORD struct record record = {0};
    enum sandlot_status status = sandbox_wait_for(call, vercel, name, PHASE_ENDED, &record);

    if (status != SANDLOT_OK)
        return status;
    if (!record_keeps_files(&record) || !record.snapshot)
        return sandlot_fail(call, SANDLOT_NOT_FOUND,
                            "the session of Vercel's sandbox '%.128s' is over and has left no snapshot; create another "
                            "one",
                            name);
    *id = strdup(record.snapshot);
    return *id ? SANDLOT_OK : http_no_memory(call);
}

static enum sandlot_status order(struct sandlot_call *call, struct vercel *vercel, const struct record *record,
                                 struct http_response *response, struct json_object **answer)
{
    static const int over[] = {409, 410, 422, 0};
    int64_t expiration_s = vercel->parameters.snapshot_expiration_s;
    struct json_builder body = {0};

    if (expiration_s != SANDLOT_ABSENT_INTEGER)
        json_set_integer(&body, "expiration", api_milliseconds(expiration_s));
    struct rest_request request = {.method = "POST",
                                   .target = http_target("/v2/sandboxes/sessions/{}/snapshot", record->session),
                                   .body = &body,
                                   .never_repeat = true, /* there would be two */
                                   .accepted = over};

    return api_send(call, vercel, API_SESSION, &request, response, answer);
}

enum sandlot_status snapshots_take(struct sandlot_call *call, struct vercel *vercel, const char *name, char **id)
{
    AUTO_RECORD struct record record = {0};
    AUTO_RECORD struct record after = {0};
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    enum sandlot_status status = record_get(call, vercel, name, &record);

    if (status == SANDLOT_OK && record.phase == PHASE_STARTING) {
        record_clear(&record);
        status = sandbox_wait_for(call, vercel, name, PHASE_RUNNING, &record);
    }
    if (status != SANDLOT_OK)
        return status;
    if (record.phase != PHASE_RUNNING)
        return take_last(call, vercel, name, id);
    status = order(call, vercel, &record, &response, &answer);
    if (status == SANDLOT_OK && answer)
        return take_id(call, answer, id);
    if (status != SANDLOT_OK && status != SANDLOT_UNAVAILABLE)
        return status;
    /* The answer was lost, or the session is ending by itself: with what the sandbox did not have before, it has
     * worked. */
    if (status == SANDLOT_UNAVAILABLE && record_get(call, vercel, name, &after) != SANDLOT_OK)
        return status;
    if (status == SANDLOT_UNAVAILABLE && after.phase == PHASE_RUNNING)
        return status;
    return take_last(call, vercel, name, id);
}

enum sandlot_status snapshots_make(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                   const struct sandlot_sink *result)
{
    AUTO_FREE char *snapshot = NULL;
    enum sandlot_status status = api_open(call, provider);

    if (status == SANDLOT_OK)
        status = snapshots_take(call, provider, id, &snapshot);
    if (status != SANDLOT_OK || !snapshot)
        return status;
    if (name && strcmp(name, snapshot) != 0)
        call->host->log(call, SANDLOT_LOG_WARNING,
                        "Vercel's snapshots have no names: this one is found by its id alone");
    return result->write(result, snapshot, strlen(snapshot));
}

/* ---- listing and deleting ---------------------------------------------------------------------------------------- */

enum sandlot_status snapshots_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing)
{
    static const struct rest_entry entry = {.what = "Vercel's list of snapshots",
                                            .items = "snapshots",
                                            .next = API_NEXT,
                                            .id = "id",
                                            .created_at = "createdAt",
                                            .state = "status",
                                            .usual_state = "created",
                                            .left_out = "deleted"};

    return api_list(call, provider, "/v2/sandboxes/snapshots?limit=50", cursor, listing, &entry);
}

enum sandlot_status snapshots_delete(struct sandlot_call *call, void *provider, const char *name)
{
    static const int not_there[] = {404, 410, 0};
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    enum sandlot_status status = api_open(call, provider);

    if (status != SANDLOT_OK)
        return status;
    struct rest_request request = {
        .method = "DELETE", .target = http_target("/v2/sandboxes/snapshots/{}", name), .accepted = not_there};

    return api_send(call, provider, API_SESSION, &request, &response, &answer);
}

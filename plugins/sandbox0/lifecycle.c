#include "create.h"
#include "label.h"
#include "operations.h"
#include "policy.h"
#include "sources.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/pause.h>
#include <string.h>

enum { MOST_TRIES = 20, LABELS = 20, LABEL_MS = 2000 };

static enum sandlot_status make_no_sense(struct sandlot_call *call, const struct json_error *error)
{
    return json_fail(call, SERVICE "'s list", error);
}

/* ---- deleting --------------------------------------------------------------------------------------------------- */

/* What is being paused or woken may not be deleted yet. */
static enum sandlot_status delete_when_idle(struct sandlot_call *call, struct sandbox0 *sandbox0, const char *id)
{
    static const int answers[] = {404, 409, 0};
    struct pause pause = {.service = SERVICE, .looks = MOST_TRIES};

    for (;;) {
        AUTO_RESPONSE struct http_response response = {0};
        const struct rest_request order = {
            .method = "DELETE", .target = http_target(SANDBOXES "/{}", id), .accepted = answers};
        enum sandlot_status status = api_send(call, sandbox0, order, &response, NULL);

        if (status != SANDLOT_OK || response.status != 409)
            return status;
        if (!pause_again(call, &pause, &status))
            return status == SANDLOT_OK ? http_response_fail(call, sandbox0->client, NULL, &response) : status;
    }
}

enum sandlot_status lifecycle_delete(struct sandlot_call *call, void *provider, const char *id)
{
    struct sandbox0 *sandbox0 = provider;
    enum sandlot_status status = delete_when_idle(call, sandbox0, id);

    return status == SANDLOT_OK && sandbox0->parameters.team_credentials ? sources_remove(call, sandbox0, id) : status;
}

/* ---- listing ---------------------------------------------------------------------------------------------------- */

/* Gets one row of a list of sandboxes; RANK: how many are newer, of this page. */
typedef enum sandlot_status (*add_row)(struct sandlot_call *call, struct sandbox0 *sandbox0,
                                       const struct sandlot_listing *listing, const struct record *record, size_t rank);

/* A row mostly has no label, so those that may be asked for by it are asked for one by one: the newest. */
static enum sandlot_status add_sandbox(struct sandlot_call *call, struct sandbox0 *sandbox0,
                                       const struct sandlot_listing *listing, const struct record *record, size_t rank)
{
    AUTO_RECORD struct record whole = {0};
    struct attempt attempt;

    attempt_begin(&attempt, call, LABEL_MS);
    if (rank < LABELS && !record->labelled)
        record_get(&attempt.call, sandbox0, record->id, &whole);
    const struct sandlot_listed listed = {.size = sizeof(listed),
                                          .id = record->id,
                                          .state = record->phase == PHASE_PAUSED ? "paused" : record->state,
                                          .created_at_ms = record->created_at_ms,
                                          .run_label = record->labelled ? record->label : whole.label};

    return listing->add(listing, &listed);
}

/* One page. Pages are counted by what they hold, so that the next one begins where this one ends. */
static enum sandlot_status read_page(struct sandlot_call *call, struct sandbox0 *sandbox0, const char *cursor,
                                     const struct sandlot_listing *listing, add_row add)
{
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct json_object *rows = NULL;
    struct json_error error;
    struct record record;
    bool more = false;
    struct rest_request order = {.method = "GET", .target = http_target(SANDBOXES "?limit=200")};

    if (order.target)
        http_target_add(&order.target, "offset", cursor);
    enum sandlot_status status = api_send(call, sandbox0, order, NULL, &answer);

    if (status != SANDLOT_OK)
        return status;
    if (!json_find_array(answer, "data.sandboxes", &rows, &error) ||
        !json_find_boolean(answer, "data.has_more", &more, &error))
        return make_no_sense(call, &error);
    if (!rows && !json_object_object_get_ex(answer, "data", NULL))
        return sandlot_fail(call, SANDLOT_INTERNAL, SERVICE "'s list has no data; try again");
    size_t count = rows ? json_object_array_length(rows) : 0;

    for (size_t i = 0; i < count && status == SANDLOT_OK; i++)
        status = record_read(json_object_array_get_idx(rows, i), &record, &error)
                     ? add(call, sandbox0, listing, &record, i)
                     : make_no_sense(call, &error);
    if (status == SANDLOT_OK && more && count > 0) {
        char next[24];

        snprintf(next, sizeof(next), "%lld", (cursor ? strtoll(cursor, NULL, 10) : 0) + (long long)count);
        listing->next(listing, next);
    }
    return status;
}

enum sandlot_status lifecycle_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing)
{
    return read_page(call, provider, cursor, listing, add_sandbox);
}

/* ---- pausing and resuming --------------------------------------------------------------------------------------- */

/* The request is accepted at once; the files are kept when the sandbox is said to be paused. */
enum sandlot_status lifecycle_pause(struct sandlot_call *call, void *provider, const char *id)
{
    return sandbox_bring(call, provider, id, PHASE_PAUSED);
}

enum sandlot_status lifecycle_resume(struct sandlot_call *call, void *provider, const char *id)
{
    return sandbox_bring(call, provider, id, PHASE_RUNNING);
}

/* ---- forking ---------------------------------------------------------------------------------------------------- */

/* Asks for one thing more, once, for there would be two: nothing tells it from others if the answer is lost. Its id
 * stands at PATH of the ANSWER that is to be released. */
static enum sandlot_status make(struct sandlot_call *call, struct sandbox0 *sandbox0, char *target,
                                struct json_builder *body, const char *path, struct json_object **answer,
                                const char **id)
{
    const struct rest_request order = {.method = "POST", .target = target, .body = body, .never_repeat = true};
    struct json_error error;
    enum sandlot_status status = api_send(call, sandbox0, order, NULL, answer);

    return status != SANDLOT_OK || json_read_string(*answer, path, id, &error)
               ? status
               : json_fail(call, SERVICE "'s answer to a copy", &error);
}

/* A copy has the label of its original, unless it gets its own. Whether that is achieved nobody needs to know. */
static void relabel(struct sandlot_call *call, struct sandbox0 *sandbox0, const char *id, const char *label)
{
    struct json_builder body = {0};
    struct attempt attempt;

    label_set(&body, label);
    const struct rest_request order = {.method = "PUT", .target = http_target(SANDBOXES "/{}", id), .body = &body};

    attempt_begin(&attempt, call, 0);
    api_send(&attempt.call, sandbox0, order, NULL, NULL);
}

/* The copy sleeps, and wakes when it is used. */
enum sandlot_status lifecycle_fork(struct sandlot_call *call, void *provider, const char *id,
                                   const struct sandlot_create *request)
{
    struct sandbox0 *sandbox0 = provider;
    struct json_builder body = {0};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    const char *copy;
    enum sandlot_status status = policy_check(call, sandbox0, network_asked(request));

    if (status == SANDLOT_OK)
        status = create_set_lifetimes(call, &sandbox0->parameters, request, &body);
    if (status == SANDLOT_OK)
        status = make(call, sandbox0, http_target(SANDBOXES "/{}/fork", id), &body, "data.sandbox.id", &answer, &copy);
    if (status != SANDLOT_OK)
        return status;
    call->host->created(call, copy, NULL);
    if (network_asked(request)) /* before it wakes */
        status = policy_put(call, sandbox0, copy, network_asked(request));
    relabel(call, sandbox0, copy, request->run_label);
    return status;
}

/* ---- snapshots -------------------------------------------------------------------------------------------------- */

enum sandlot_status snapshot_make(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                  const struct sandlot_sink *result)
{
    struct json_builder body = {0};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    const char *snapshot;

    json_set_string(&body, "name", name);
    enum sandlot_status status =
        make(call, provider, http_target(SANDBOXES "/{}/snapshots", id), &body, "data.id", &answer, &snapshot);

    return status == SANDLOT_OK ? result->write(result, snapshot, strlen(snapshot)) : status;
}

/* Those of one sandbox, which may have gone since it was listed. */
static enum sandlot_status add_snapshots_of(struct sandlot_call *call, struct sandbox0 *sandbox0,
                                            const struct sandlot_listing *listing, const struct record *record,
                                            size_t rank)
{
    static const int gone[] = {404, 0};
    static const struct rest_entry entry = {SERVICE "'s list", .id = "id", .created_at = "created_at",
                                            .run_label = "name", .usual_state = "ready"};
    const struct rest_request order = {
        .method = "GET", .target = http_target(SANDBOXES "/{}/snapshots", record->id), .accepted = gone};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct json_object *items = NULL;
    struct json_error error;
    enum sandlot_status status = api_send(call, sandbox0, order, NULL, &answer);

    (void)rank;
    if (status != SANDLOT_OK || !answer)
        return status;
    return json_find_array(answer, "data.snapshots", &items, &error)
               ? rest_list_entries(call, listing, items, NULL, &entry)
               : make_no_sense(call, &error);
}

/* There is no list of all: those of sandboxes that were deleted are found by their ids alone. */
enum sandlot_status snapshot_list(struct sandlot_call *call, void *provider, const char *cursor,
                                  const struct sandlot_listing *listing)
{
    return read_page(call, provider, cursor, listing, add_snapshots_of);
}

enum sandlot_status snapshot_delete(struct sandlot_call *call, void *provider, const char *name)
{
    static const int not_there[] = {404, 0};
    const struct rest_request order = {
        .method = "DELETE", .target = http_target("/api/v1/sandbox-rootfs-snapshots/{}", name), .accepted = not_there};

    return api_send(call, provider, order, NULL, NULL);
}

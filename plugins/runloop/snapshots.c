#include "snapshots.h"

#include "record.h"

#include <sandlot/sdk/cleanup.h>
#include <string.h>

enum { LOOK_PAUSE_MS = 1000, MAKING_MS = 20 * 60 * 1000, ATTEMPTS = 3 };

static const char list_target[] = "/v1/devboxes/disk_snapshots?limit=1000";
static const char prefix[] = "snp_";

bool snapshots_is_id(const char *text)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* ---- finding ----------------------------------------------------------------------------------------------------- */

/* The newest of that name: the list begins with it. */
enum sandlot_status snapshots_find(struct sandlot_call *call, struct runloop *runloop, const char *name, char **id)
{
    AUTO_FREE char *cursor = NULL;

    *id = NULL;
    for (;;) {
        AUTO_PAGE struct page page = {0};
        enum sandlot_status status = page_get(call, runloop, http_target(list_target), "snapshots", cursor, &page);

        if (status == SANDLOT_OK)
            status = page_keep_id(call, &page, name, id);
        if (status != SANDLOT_OK || *id || !page.next)
            return status;
        free(cursor);
        cursor = strdup(page.next);
        if (!cursor)
            return http_no_memory(call);
    }
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* What became of snapshot ID. SANDLOT_UNAVAILABLE with *DOCUMENT: it is not ready yet, and the call has not failed. */
static enum sandlot_status look_at(struct sandlot_call *call, struct runloop *runloop, const char *name, const char *id,
                                   struct json_object **document)
{
    const struct api_order order = {.method = "GET",
                                    .target = http_target("/v1/devboxes/disk_snapshots/{}/status", id)};
    const char *state = "in_progress";
    const char *reason = "it does not say why";
    enum sandlot_status status = api_send_order(call, runloop, &order, NULL, document);

    if (status != SANDLOT_OK)
        return status;
    json_find_string(*document, "status", &state, NULL);
    json_find_string(*document, "error_message", &reason, NULL);
    if (strcmp(state, "complete") == 0)
        return SANDLOT_OK;
    if (strcmp(state, "error") == 0 || strcmp(state, "deleted") == 0)
        return sandlot_fail(call, SANDLOT_INTERNAL, "Runloop could not make the snapshot %.100s (%.400s); try again",
                            name, reason);
    return SANDLOT_UNAVAILABLE;
}

static enum sandlot_status wait_for(struct sandlot_call *call, struct runloop *runloop, const char *name,
                                    const char *id)
{
    struct pause pause = {.service = "Runloop", .longest_ms = LOOK_PAUSE_MS, .limit_ms = MAKING_MS};

    for (;;) {
        AUTO_DOCUMENT struct json_object *document = NULL;
        enum sandlot_status status = look_at(call, runloop, name, id, &document);

        if (status != SANDLOT_UNAVAILABLE || !document)
            return status;
        call->host->progress(call, "making a disk snapshot", 0, 0);
        if (!pause_again(call, &pause, &status))
            return status == SANDLOT_UNAVAILABLE
                       ? sandlot_fail(call, SANDLOT_TIMEOUT, "Runloop is still making the snapshot %.100s; look later",
                                      name)
                       : status;
    }
}

static char *make_body(const char *name)
{
    struct json_builder body = {0};

    json_set_string(&body, "name", name);
    json_set_string(&body, "metadata.sandlot", "1");
    return json_finish(&body, NULL);
}

/* Orders the snapshot, once: names need not be unique there, so after a lost answer it is looked up first. */
static enum sandlot_status begin(struct sandlot_call *call, struct runloop *runloop, const char *devbox,
                                 const char *name, char **id)
{
    AUTO_FREE char *target = http_target("/v1/devboxes/{}/snapshot_disk_async", devbox);
    AUTO_FREE char *body = make_body(name);
    const struct http_request request = {.method = "POST",
                                         .target = target,
                                         .body = {.bytes = body, .length = body ? strlen(body) : 0},
                                         .never_repeat = true};
    char request_id[RANDOM_UUID_SIZE];
    struct pause pause = {.service = "Runloop", .looks = ATTEMPTS};

    if (!body)
        return http_no_memory(call);
    random_uuid_by_time(request_id);
    for (;;) {
        AUTO_RESPONSE struct http_response response = {0};
        AUTO_DOCUMENT struct json_object *document = NULL;
        const char *text = NULL;
        enum sandlot_status status = api_send(call, runloop, &request, request_id, &response, &document);

        if (status == SANDLOT_OK && json_read_string(document, "id", &text, NULL)) {
            *id = strdup(text);
            return *id ? SANDLOT_OK : http_no_memory(call);
        }
        if (status != SANDLOT_OK && status != SANDLOT_UNAVAILABLE && response.status != 200)
            return status;
        enum sandlot_status found = snapshots_find(call, runloop, name, id);

        if (found != SANDLOT_OK || *id)
            return found;
        if (!pause_again(call, &pause, &found))
            return found == SANDLOT_OK ? sandlot_fail(call, SANDLOT_UNAVAILABLE,
                                                      "Runloop does not begin the snapshot %.100s; try again", name)
                                       : found;
    }
}

enum sandlot_status snapshots_capture(struct sandlot_call *call, struct runloop *runloop, const char *id,
                                      const char *name, char **snapshot)
{
    enum sandlot_status status = begin(call, runloop, id, name, snapshot);

    return status == SANDLOT_OK ? wait_for(call, runloop, name, *snapshot) : status;
}

enum sandlot_status snapshots_make(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                   const struct sandlot_sink *result)
{
    AUTO_FREE char *taken = NULL;
    AUTO_FREE char *snapshot = NULL;
    enum sandlot_status status = snapshots_find(call, provider, name, &taken);

    if (status == SANDLOT_OK && taken)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "there is a disk snapshot called %.100s at Runloop already (%s); choose another name, or "
                            "delete that one",
                            name, taken);
    if (status == SANDLOT_OK)
        status = snapshots_capture(call, provider, id, name, &snapshot);
    return status == SANDLOT_OK ? result->write(result, name, strlen(name)) : status; /* as it is listed */
}

/* ---- listing and deleting ---------------------------------------------------------------------------------------- */

/* By name where it has one, as it can be started from by either. */
static bool tell_name(struct json_object *item, struct sandlot_listed *listed)
{
    const char *name = NULL;

    json_find_string(item, "name", &name, NULL);
    if (parameter_is_said(name))
        listed->id = name;
    return true;
}

enum sandlot_status snapshots_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing)
{
    static const struct rest_entry entry = {.what = "Runloop's list of snapshots",
                                            .id = "id",
                                            .created_at = "create_time_ms",
                                            .usual_state = "complete",
                                            .adapt = tell_name};
    AUTO_PAGE struct page page = {0};
    enum sandlot_status status = page_get(call, provider, http_target(list_target), "snapshots", cursor, &page);

    return status == SANDLOT_OK ? rest_list_entries(call, listing, page.items, page.next, &entry) : status;
}

enum sandlot_status snapshots_remove(struct sandlot_call *call, struct runloop *runloop, const char *id)
{
    static const int not_there[] = {404, 0};
    const struct api_order request = {
        .method = "POST", .target = http_target("/v1/devboxes/disk_snapshots/{}/delete", id), .accepted = not_there};

    return api_send_order(call, runloop, &request, NULL, NULL);
}

enum sandlot_status snapshots_delete(struct sandlot_call *call, void *provider, const char *name)
{
    AUTO_FREE char *id = NULL;

    if (snapshots_is_id(name))
        return snapshots_remove(call, provider, name);
    enum sandlot_status status = snapshots_find(call, provider, name, &id);

    return status == SANDLOT_OK && id ? snapshots_remove(call, provider, id) : status;
}

#include "snapshots.h"

#include "record.h"

#include <inttypes.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/timestamp.h>
#include <string.h>

enum { MAKING_MS = 20 * 60 * 1000, MOST_PAGES = 1000000 };

/* ---- looking -------------------------------------------------------------------------------------------------- */

/* *ID NULL: there is none. */
static enum sandlot_status find_state(struct sandlot_call *call, struct daytona *daytona, const char *name,
                                      struct json_object **document, const char **id, const char **state)
{
    static const int not_there[] = {404, 0};
    struct json_error error;
    int code = 0;
    enum sandlot_status status =
        api_order(call, daytona, "GET", http_target("/snapshots/{}", name), not_there, &code, document);

    if (status != SANDLOT_OK || code == 404)
        return status;
    return json_read_string(*document, "id", id, &error) && json_find_string(*document, "state", state, &error)
               ? SANDLOT_OK
               : json_fail(call, "Daytona's answer about a snapshot", &error);
}

/* ---- making --------------------------------------------------------------------------------------------------- */

/* Is snapshot NAME just being made of the sandbox ID? */
static bool is_under_way(struct sandlot_call *call, struct daytona *daytona, const char *id, const char *name)
{
    AUTO_DOCUMENT struct json_object *document = NULL;
    const char *snapshot = NULL;
    const char *source = NULL;
    const char *state = "";

    return find_state(call, daytona, name, &document, &snapshot, &state) == SANDLOT_OK && snapshot &&
           json_find_string(document, "sourceSandboxId", &source, NULL) && source && strcmp(source, id) == 0 &&
           strcmp(state, "active") != 0 && strcmp(state, "inactive") != 0;
}

/* A machine that runs is copied with its memory, one that does not without: the other way round is refused. */
static enum sandlot_status ask_for(struct sandlot_call *call, struct daytona *daytona, const char *id, const char *name)
{
    static const int taken[] = {409, 0};
    AUTO_RECORD struct record record = {0};
    enum sandlot_status status = record_get(call, daytona, id, &record);

    if (status != SANDLOT_OK)
        return status;
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *document = NULL;
    struct json_builder body = {0};
    const struct rest_request request = {.method = "POST",
                                         .target = http_target("/sandbox/{}/snapshot", id),
                                         .body = &body,
                                         .accepted = taken,
                                         .repeatable = true};

    json_set_string(&body, "name", name);
    if (record_is_machine(&record) && record.phase == PHASE_STARTED)
        json_set_boolean(&body, "includeMemory", true);
    status = api_send(call, daytona, &request, &response, &document);
    /* The name that a repeated request finds taken is ours: the first one has arrived. (One over a kept connection may
     * have been repeated without being counted.) */
    if (status == SANDLOT_OK && response.status == 409 && response.attempts == 1 &&
        !is_under_way(call, daytona, record.id, name))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "Daytona cannot make the snapshot %.100s: the name is taken, or the sandbox is in the "
                            "middle of another change; choose another name, or try again",
                            name);
    return status;
}

/* Waits until the sandbox has left the state in which it is copied. */
static enum sandlot_status wait_for_sandbox(struct sandlot_call *call, struct daytona *daytona, const char *id)
{
    struct pause pause = {.service = "Daytona", .longest_ms = 1000, .limit_ms = MAKING_MS};

    for (;;) {
        AUTO_RECORD struct record record = {0};
        enum sandlot_status status = record_get(call, daytona, id, &record);

        if (status != SANDLOT_OK || strcmp(record.state, "snapshotting") != 0 || !pause_again(call, &pause, &status))
            return status;
    }
}

static bool has_failed(const char *state)
{
    return strcmp(state, "error") == 0 || strcmp(state, "build_failed") == 0 || strcmp(state, "removing") == 0;
}

/* What became of snapshot NAME. SANDLOT_UNAVAILABLE, without a word to the host: it is not ready yet. */
static enum sandlot_status look_at(struct sandlot_call *call, struct daytona *daytona, const char *name,
                                   struct json_object **document, const char **id)
{
    static const int not_there[] = {404, 0};
    const char *state = "active";
    const char *reason = "it gave no reason";
    struct json_error error;
    int code = 0;
    enum sandlot_status status =
        api_order(call, daytona, "GET", http_target("/snapshots/{}", name), not_there, &code, document);

    if (status != SANDLOT_OK)
        return status;
    if (code == 404)
        return sandlot_fail(call, SANDLOT_INTERNAL,
                            "Daytona could not make the snapshot %.100s and does not say why; try again", name);
    if (!json_read_string(*document, "id", id, &error) || !json_find_string(*document, "state", &state, &error) ||
        !json_find_string(*document, "errorReason", &reason, &error))
        return json_fail(call, "Daytona's answer about a snapshot", &error);
    if (has_failed(state))
        return sandlot_fail(call, SANDLOT_INTERNAL, "Daytona could not make the snapshot %.100s: %.400s; try again",
                            name, reason);
    return strcmp(state, "active") == 0 || strcmp(state, "inactive") == 0 ? SANDLOT_OK : SANDLOT_UNAVAILABLE;
}

enum sandlot_status snapshots_make(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                   const struct sandlot_sink *result)
{
    struct pause pause = {.service = "Daytona", .longest_ms = 1000, .limit_ms = MAKING_MS};
    enum sandlot_status status = ask_for(call, provider, id, name);

    if (status == SANDLOT_OK)
        status = wait_for_sandbox(call, provider, id);
    while (status == SANDLOT_OK) {
        AUTO_DOCUMENT struct json_object *document = NULL;
        const char *snapshot = "";

        status = look_at(call, provider, name, &document, &snapshot);
        if (status == SANDLOT_OK)
            return result->write(result, name, strlen(name)); /* as it is listed */
        if (status != SANDLOT_UNAVAILABLE || !document)
            return status;
        status = SANDLOT_OK;
        if (!pause_again(call, &pause, &status) && status == SANDLOT_OK)
            return sandlot_fail(call, SANDLOT_TIMEOUT, "Daytona is still making the snapshot %.100s; look later", name);
    }
    return status;
}

/* ---- activating ----------------------------------------------------------------------------------------------- */

enum sandlot_status snapshots_activate(struct sandlot_call *call, struct daytona *daytona, const char *name,
                                       bool *active)
{
    static const int refusals[] = {400, 409, 0}; /* somebody else has activated it */
    struct pause pause = {.service = "Daytona", .longest_ms = 1000, .limit_ms = MAKING_MS};

    *active = false;
    for (bool asked = false;; asked = true) {
        AUTO_DOCUMENT struct json_object *document = NULL;
        const char *id = NULL;
        const char *state = "";
        enum sandlot_status status = find_state(call, daytona, name, &document, &id, &state);

        *active = asked && strcmp(state, "active") == 0;
        if (status != SANDLOT_OK || *active || !id || has_failed(state) || (!asked && strcmp(state, "inactive") != 0))
            return status;
        if (!asked) {
            call->host->progress(call, "activating the snapshot", 0, 0);
            status = api_order(call, daytona, "POST", http_target("/snapshots/{}/activate", id), refusals, NULL, NULL);
        }
        if (status != SANDLOT_OK || !pause_again(call, &pause, &status))
            return status;
    }
}

/* ---- listing and deleting ------------------------------------------------------------------------------------- */

static const struct rest_entry entry = {
    .what = "Daytona's list of snapshots", .id = "name", .state = "state", .created_at = "createdAt"};

/* A cursor is the number of a page, from 1. */
static int64_t page_of(const char *cursor)
{
    char *end = NULL;
    long page = cursor ? strtol(cursor, &end, 10) : 1;

    return cursor && (*end || end == cursor || page < 2 || page > MOST_PAGES) ? -1 : page;
}

enum sandlot_status snapshots_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing)
{
    AUTO_DOCUMENT struct json_object *document = NULL;
    struct json_object *items = NULL;
    struct json_error error;
    char text[24];
    int64_t page = page_of(cursor);
    int64_t pages = 1;

    if (page < 0)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "\"%.40s\" is no page of Daytona's snapshots; begin again",
                            cursor);
    snprintf(text, sizeof(text), "%" PRId64, page);
    enum sandlot_status status =
        api_order(call, provider, "GET", http_target("/snapshots?limit=100&page={}", text), NULL, NULL, &document);

    if (status != SANDLOT_OK)
        return status;
    if (!json_read_array(document, "items", &items, &error) ||
        !json_find_integer(document, "totalPages", &pages, &error))
        return json_fail(call, entry.what, &error);
    snprintf(text, sizeof(text), "%" PRId64, page + 1);
    return rest_list_entries(call, listing, items, page < pages && json_object_array_length(items) > 0 ? text : NULL,
                             &entry);
}

/* Deleting takes the id alone, asking takes a name too. */
enum sandlot_status snapshots_delete(struct sandlot_call *call, void *provider, const char *name)
{
    static const int not_there[] = {404, 0};
    AUTO_DOCUMENT struct json_object *document = NULL;
    const char *id = NULL;
    const char *state;
    enum sandlot_status status = find_state(call, provider, name, &document, &id, &state);

    return status == SANDLOT_OK && id
               ? api_order(call, provider, "DELETE", http_target("/snapshots/{}", id), not_there, NULL, NULL)
               : status;
}

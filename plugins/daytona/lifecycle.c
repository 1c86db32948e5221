#include "lifecycle.h"

#include "create.h"
#include "sandbox.h"

#include <inttypes.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/network.h>
#include <sandlot/sdk/timestamp.h>
#include <string.h>

enum {
    CHANGE_MS = 120 * 1000, /* for a change of state that nobody has given a deadline */
    PAUSED_MINUTES = 43200  /* a paused sandbox that was to be deleted on its stop lives on so long */
};

/* ---- deleting ------------------------------------------------------------------------------------------------- */

/* The answer to DELETE was that another change is under way, or none. SANDLOT_UNAVAILABLE: to be tried again. */
static enum sandlot_status is_going(struct sandlot_call *call, struct daytona *daytona, const char *id)
{
    AUTO_RECORD struct record record = {0};
    enum sandlot_status status = record_find(call, daytona, id, &record);

    return status == SANDLOT_OK && record.id && record.phase != PHASE_GONE ? SANDLOT_UNAVAILABLE : status;
}

enum sandlot_status lifecycle_delete(struct sandlot_call *call, void *provider, const char *id)
{
    static const int answers[] = {404, 409, 0};
    struct pause pause = {.service = "Daytona", .longest_ms = 1000, .limit_ms = CHANGE_MS};

    for (;;) {
        int code = 0;
        AUTO_DOCUMENT struct json_object *document = NULL;
        enum sandlot_status status =
            api_order(call, provider, "DELETE", http_target("/sandbox/{}", id), answers, &code, &document);

        if (status != SANDLOT_OK || code == 404 || (code < 300 && document))
            return status;
        status = is_going(call, provider, id);
        if (status != SANDLOT_UNAVAILABLE)
            return status;
        if (!pause_again(call, &pause, &status))
            return status != SANDLOT_UNAVAILABLE
                       ? status
                       : sandlot_fail(call, SANDLOT_UNAVAILABLE,
                                      "Daytona's sandbox %.100s is in the middle of another change that does not end; "
                                      "delete it later",
                                      id);
    }
}

/* ---- listing -------------------------------------------------------------------------------------------------- */

static enum sandlot_status add_item(struct sandlot_call *call, const struct sandlot_listing *listing,
                                    struct json_object *item)
{
    AUTO_RECORD struct record record = {0};
    enum sandlot_status status = record_read(call, item, &record);

    if (status != SANDLOT_OK || record.phase == PHASE_GONE)
        return status;
    const struct sandlot_listed listed = {.size = sizeof(listed),
                                          .id = record.id,
                                          .state = record.phase == PHASE_RESTING ? "paused" : record.state,
                                          .created_at_ms = timestamp_read(record.created_at),
                                          .run_label = record.run_label};

    return listing->add(listing, &listed);
}

enum sandlot_status lifecycle_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing)
{
    AUTO_DOCUMENT struct json_object *document = NULL;
    struct json_object *items = NULL;
    const char *next = NULL;
    struct json_error error;
    char *target = http_target("/sandbox?limit=200");

    if (target && cursor && !http_target_add(&target, "cursor", cursor))
        return http_no_memory(call);
    enum sandlot_status status = api_order(call, provider, "GET", target, NULL, NULL, &document);

    if (status != SANDLOT_OK)
        return status;
    if (!json_read_array(document, "items", &items, &error) || !json_find_string(document, "nextCursor", &next, &error))
        return json_fail(call, "Daytona's list of sandboxes", &error);
    return rest_list(call, listing, items, next, add_item);
}

/* ---- pausing and resuming ------------------------------------------------------------------------------------- */

/* Waits until the sandbox is in PHASE. */
static enum sandlot_status wait_for(struct sandlot_call *call, struct daytona *daytona, const char *id,
                                    enum phase phase)
{
    struct pause pause = {.service = "Daytona", .longest_ms = 1000, .limit_ms = CHANGE_MS};

    for (;;) {
        AUTO_RECORD struct record record = {0};
        enum sandlot_status status = record_get(call, daytona, id, &record);

        if (status != SANDLOT_OK || record.phase == phase)
            return status;
        if (record.phase == PHASE_FAILED || record.phase == PHASE_GONE)
            return sandlot_fail(call, SANDLOT_INTERNAL,
                                "Daytona's sandbox %s has become \"%.40s\"%s%.400s instead; look at it with Daytona's "
                                "own tools",
                                record.id, record.state, record.reason ? ": " : "", record.reason ? record.reason : "");
        if (!pause_again(call, &pause, &status))
            return status == SANDLOT_OK ? sandlot_fail(call, SANDLOT_TIMEOUT,
                                                       "Daytona's sandbox %s is still \"%.40s\"; look at it later",
                                                       record.id, record.state)
                                        : status;
    }
}

static enum sandlot_status set_auto_delete(struct sandlot_call *call, struct daytona *daytona, const char *id,
                                           int64_t minutes)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, minutes);
    return api_order(call, daytona, "POST", http_target("/sandbox/{}/autodelete/{}", id, text), NULL, NULL, NULL);
}

static bool goes_to_rest(const struct record *record)
{
    return record->phase == PHASE_RESTING || strcmp(record->state, "stopping") == 0 ||
           strcmp(record->state, "pausing") == 0 || strcmp(record->state, "archiving") == 0;
}

/* Machines keep their memory in a pause. Containers can only be stopped, which keeps their files. A second order, sent
 * because the answer to the first was lost, is refused. LIVES_ON: it was kept from being deleted on its stop. */
static enum sandlot_status order_rest(struct sandlot_call *call, struct daytona *daytona, const struct record *record,
                                      bool lives_on)
{
    static const int refusals[] = {400, 409, 0};
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *document = NULL;
    AUTO_RECORD struct record now = {0};
    const struct rest_request order = {
        .method = "POST",
        .target = http_target(record_is_machine(record) ? "/sandbox/{}/pause" : "/sandbox/{}/stop", record->id),
        .accepted = refusals,
        .repeatable = true};
    struct http_client *client;
    enum sandlot_status status = api_send(call, daytona, &order, &response, &document);

    if (status != SANDLOT_OK || response.status < 300)
        return status;
    status = record_get(call, daytona, record->id, &now);
    if (status != SANDLOT_OK || goes_to_rest(&now))
        return status;
    if (lives_on)
        set_auto_delete(call, daytona, record->id, 0); /* as it was */
    status = api_client(call, daytona, &client);
    return status == SANDLOT_OK ? http_response_fail(call, client, NULL, &response) : status;
}

enum sandlot_status lifecycle_pause(struct sandlot_call *call, void *provider, const char *id)
{
    AUTO_RECORD struct record record = {0};
    enum sandlot_status status = record_get(call, provider, id, &record);

    if (status != SANDLOT_OK || record.phase == PHASE_RESTING)
        return status;
    bool lives_on = record.phase == PHASE_STARTED && !record_is_machine(&record) && record.auto_delete == 0;

    if (lives_on)
        status = set_auto_delete(call, provider, record.id, PAUSED_MINUTES);
    if (status == SANDLOT_OK)
        status = order_rest(call, provider, &record, lives_on);
    return status == SANDLOT_OK ? wait_for(call, provider, record.id, PHASE_RESTING) : status;
}

enum sandlot_status lifecycle_resume(struct sandlot_call *call, void *provider, const char *id)
{
    AUTO_RECORD struct record record = {0};
    enum sandlot_status status = record_get(call, provider, id, &record);

    if (status == SANDLOT_OK && record.phase == PHASE_RESTING)
        status = sandbox_start(call, provider, &record);
    if (status == SANDLOT_UNAVAILABLE || (status == SANDLOT_OK && record.phase != PHASE_RESTING))
        status = record.id ? wait_for(call, provider, record.id, PHASE_STARTED) : status;
    if (status == SANDLOT_OK && record.run_label && record.auto_delete == PAUSED_MINUTES)
        status = set_auto_delete(call, provider, record.id, 0);
    return status;
}

/* ---- forking -------------------------------------------------------------------------------------------------- */

/* The copy has its original's labels and lifetimes. */
static enum sandlot_status put_labels(struct sandlot_call *call, struct daytona *daytona, const char *id,
                                      const struct sandlot_create *request)
{
    struct json_builder body = {0};
    AUTO_DOCUMENT struct json_object *document = NULL;
    const struct rest_request order = {.method = "PUT", .target = http_target("/sandbox/{}/labels", id), .body = &body};

    json_set_object(&body, "labels");
    parameter_set_labels(&body, "labels", request);
    json_set_member(&body, "labels", LABEL_CUSTOM, "1");
    return api_send(call, daytona, &order, NULL, &document);
}

/* The answer was lost, or says that the name is taken or that another change is under way. */
static enum sandlot_status find_fork(struct sandlot_call *call, struct daytona *daytona, const char *id,
                                     const char *name, enum sandlot_status failure, struct record *record)
{
    enum sandlot_status status = record_find(call, daytona, name, record);

    if (status != SANDLOT_OK || record->id)
        return status;
    return failure != SANDLOT_OK ? failure
                                 : sandlot_fail(call, SANDLOT_UNAVAILABLE,
                                                "Daytona's sandbox %.100s is in the middle of another change; fork it "
                                                "later",
                                                id);
}

enum sandlot_status lifecycle_fork(struct sandlot_call *call, void *provider, const char *id,
                                   const struct sandlot_create *request)
{
    static const int answers[] = {409, 422, 0};
    struct json_builder body = {0};
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *document = NULL;
    AUTO_RECORD struct record record = {0};
    const struct rest_request order = {.method = "POST",
                                       .target = http_target("/sandbox/{}/fork", id),
                                       .body = &body,
                                       .accepted = answers,
                                       .repeatable = true}; /* the name is taken once the first has arrived */
    enum sandlot_status status = network_refuse_fork(call, "Daytona", request); /* it has no list of domains */

    json_set_string(&body, "name", request->run_label);
    status = status == SANDLOT_OK ? api_send(call, provider, &order, &response, &document) : rest_drop(&order, status);
    if (status == SANDLOT_OK && response.status == 422)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "Daytona forks virtual machines only, and sandbox %.100s is a container; make a snapshot "
                            "of it and start another sandbox from that",
                            id);
    if (status == SANDLOT_OK && document)
        status = record_read(call, document, &record);
    else if (status == SANDLOT_OK || status == SANDLOT_UNAVAILABLE)
        status = find_fork(call, provider, id, request->run_label, status, &record);
    if (status != SANDLOT_OK)
        return status;
    call->host->created(call, record.id, NULL);
    status = put_labels(call, provider, record.id, request);
    return status == SANDLOT_OK ? wait_for(call, provider, record.id, PHASE_STARTED) : status;
}

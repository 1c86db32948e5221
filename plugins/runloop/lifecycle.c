#include "lifecycle.h"

#include "create.h"
#include "policy.h"
#include "sandbox.h"
#include "snapshots.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>
#include <string.h>

enum { DELETE_MS = 120 * 1000, CHANGE_MS = 300 * 1000, WINDOW_S = 25, REMOVE_MS = 10 * 1000, URGENT_MS = 900 };

/* ---- deleting ---------------------------------------------------------------------------------------------------- */

/* Shutdown was refused. SANDLOT_UNAVAILABLE: it lives, and shutdown is to be tried again. */
static enum sandlot_status still_lives(struct sandlot_call *call, struct runloop *runloop, const char *id)
{
    AUTO_RECORD struct record record = {0};
    enum sandlot_status status = record_find(call, runloop, id, &record);

    return status == SANDLOT_OK && record.id && record.phase != PHASE_GONE ? SANDLOT_UNAVAILABLE : status;
}

/* 400: it has ended already, or is in no state for it. 409: a snapshot of it is being made, which is not to be spoilt.
 */
enum sandlot_status lifecycle_delete(struct sandlot_call *call, void *provider, const char *id)
{
    static const int answers[] = {400, 404, 409, 0};
    struct pause pause = {.service = "Runloop", .limit_ms = DELETE_MS};

    for (;;) {
        const struct api_order order = {
            .method = "POST", .target = http_target("/v1/devboxes/{}/shutdown", id), .accepted = answers};
        AUTO_DOCUMENT struct json_object *ended = NULL;
        const char *policy = NULL;
        int code = 0;
        enum sandlot_status status = api_send_order(call, provider, &order, &code, &ended);

        if (ended)
            json_find_string(ended, "launch_parameters.network_policy_id", &policy, NULL);
        if (status == SANDLOT_OK && policy)
            policy_collect(call, provider, policy);
        if (status != SANDLOT_OK || code == 404 || (code < 300 && ended)) /* without a body it is nobody's word */
            return status;
        status = still_lives(call, provider, id);
        if (status != SANDLOT_UNAVAILABLE)
            return status;
        if (!pause_again(call, &pause, &status))
            return status != SANDLOT_UNAVAILABLE
                       ? status
                       : sandlot_fail(call, SANDLOT_UNAVAILABLE,
                                      "Runloop does not shut devbox %.100s down (status %d): a snapshot of it is being "
                                      "made, or another change does not end; delete it later",
                                      id, code);
    }
}

/* ---- listing ----------------------------------------------------------------------------------------------------- */

/* Records of devboxes that have ended stay in the list. */
static enum sandlot_status add_item(struct sandlot_call *call, const struct sandlot_listing *listing,
                                    struct json_object *item)
{
    AUTO_RECORD struct record record = {0};
    enum sandlot_status status = record_read(call, item, &record);

    if (status != SANDLOT_OK || record.phase == PHASE_GONE)
        return status;
    const struct sandlot_listed listed = {.size = sizeof(listed),
                                          .id = record.id,
                                          .state = record.phase == PHASE_SUSPENDED ? "paused" : record.status,
                                          .created_at_ms = record.created_at_ms,
                                          .run_label = record.run_label};

    return listing->add(listing, &listed);
}

enum sandlot_status lifecycle_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing)
{
    AUTO_PAGE struct page page = {0};
    enum sandlot_status status = page_get(call, provider, http_target(RECORD_LIST_TARGET), "devboxes", cursor, &page);

    return status == SANDLOT_OK ? rest_list(call, listing, page.items, page.next, add_item) : status;
}

/* ---- pausing and resuming ---------------------------------------------------------------------------------------- */

/* Disk and id live through it, memory does not. One that is just on its way up is waited for first. */
enum sandlot_status lifecycle_pause(struct sandlot_call *call, void *provider, const char *id)
{
    struct pause pause = {.service = "Runloop", .limit_ms = CHANGE_MS};

    for (;;) {
        AUTO_RECORD struct record record = {0};
        bool refused = false;
        enum sandlot_status status = sandbox_change(call, provider, id, "suspend", &refused);

        if (status == SANDLOT_OK)
            status = sandbox_wait_for_rest(call, provider, id, WINDOW_S, &record);
        if (status == SANDLOT_OK && record.id && record.phase == PHASE_GONE)
            return sandbox_is_gone(call, &record);
        if (status != SANDLOT_OK || record.phase == PHASE_SUSPENDED)
            return status;
        if (!pause_again(call, &pause, &status))
            return status == SANDLOT_OK
                       ? sandlot_fail(call, SANDLOT_TIMEOUT,
                                      "Runloop's devbox %.100s does not get suspended; look at it later", id)
                       : status;
    }
}

enum sandlot_status lifecycle_resume(struct sandlot_call *call, void *provider, const char *id)
{
    return sandbox_bring_up(call, provider, id);
}

/* ---- forking ----------------------------------------------------------------------------------------------------- */

/* By a snapshot that is there only for that. */
enum sandlot_status lifecycle_fork(struct sandlot_call *call, void *provider, const char *id,
                                   const struct sandlot_create *request)
{
    AUTO_FREE char *snapshot = NULL;
    struct attempt cleaning;
    AUTO_RECORD struct record record = {0};
    enum sandlot_status status = policy_check(call, provider, network_asked(request));

    if (status == SANDLOT_OK)
        status = snapshots_capture(call, provider, id, request->run_label, &snapshot);
    if (status == SANDLOT_OK)
        status = create_from_disk(call, provider, request, snapshot, &record);
    if (status == SANDLOT_OK && record.phase != PHASE_RUNNING)
        status = sandbox_bring_up(call, provider, record.id);
    attempt_begin_urgent(&cleaning, call, status == SANDLOT_OK ? REMOVE_MS : URGENT_MS);
    if (snapshot && snapshots_remove(&cleaning.call, provider, snapshot) != SANDLOT_OK)
        call->host->log(call, SANDLOT_LOG_WARNING,
                        "the disk snapshot that a devbox was forked by is left at Runloop: delete it there");
    return status;
}

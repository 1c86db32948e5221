#include "operations.h"

#include "create.h"
#include "message.h"

#include <string.h>

/* ---- deleting ------------------------------------------------------------------------------------------------- */

/* One that is over is no error to end again; one that never was is NOT_FOUND, or an id that makes no sense. */
enum sandlot_status lifecycle_delete(struct sandlot_call *call, void *provider, const char *id)
{
    Modal__SandboxId request = MODAL__SANDBOX_ID__INIT;
    const struct rpc rpc = {.name = api_is_first_generation(id) ? "SandboxTerminate" : "SandboxTerminateV2",
                            .request = &request.base,
                            .accepted = GRPC_BIT(GRPC_NOT_FOUND)};

    request.sandbox_id = (char *)id;
    return api_call(call, provider, &rpc, NULL, NULL);
}

/* ---- listing -------------------------------------------------------------------------------------------------- */

static const char *run_label(const Modal__SandboxInfo *info)
{
    for (size_t i = 0; i < info->n_tags; i++)
        if (strcmp(info->tags[i]->tag_name, TAG_RUN) == 0)
            return info->tags[i]->tag_value;
    return NULL;
}

static enum sandlot_status add_item(const struct sandlot_listing *listing, const Modal__SandboxInfo *info)
{
    bool started = info->task_info && info->task_info->started_at > 0;
    bool known = info->created_at > 0 && info->created_at < 1e11;
    const struct sandlot_listed listed = {.size = sizeof(listed),
                                          .id = info->id,
                                          .state = started ? "running" : "starting",
                                          .created_at_ms = known ? (int64_t)(info->created_at * 1000) : 0,
                                          .run_label = run_label(info)};

    return *info->id ? listing->add(listing, &listed) : SANDLOT_OK;
}

/* A cursor is the time at which the last sandbox of the page before was made. */
static bool read_cursor(const char *cursor, double *before)
{
    char *end = NULL;

    *before = cursor ? strtod(cursor, &end) : 0;
    return !cursor || (end != cursor && !*end && *before > 0 && *before < 1e11);
}

static enum sandlot_status ask(struct sandlot_call *call, struct modal *modal, const char *app_id, double before,
                               Modal__SandboxListResponse **answer)
{
    Modal__SandboxListRequest request = MODAL__SANDBOX_LIST_REQUEST__INIT;
    struct rpc rpc = {.name = "SandboxListV2",
                      .request = &request.base,
                      .answer = &modal__sandbox_list_response__descriptor,
                      .accepted = GRPC_BIT(GRPC_UNIMPLEMENTED)};
    int code = GRPC_OK;

    request.app_id = (char *)app_id;
    request.before_timestamp = before;
    enum sandlot_status status = api_call(call, modal, &rpc, &code, answer);

    if (status != SANDLOT_OK || code == GRPC_OK)
        return status;
    rpc.name = "SandboxList"; /* of a server from before the newer kind of sandbox */
    rpc.accepted = 0;
    request.environment_name = (char *)modal->settings.environment;
    return api_call(call, modal, &rpc, NULL, answer);
}

/* Those of the app. Pages go back in time and end with an empty one. */
enum sandlot_status lifecycle_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing)
{
    AUTO_MESSAGE Modal__SandboxListResponse *answer = NULL;
    const char *app_id = NULL;
    double before = 0;
    char next[40];

    if (!read_cursor(cursor, &before))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "\"%.40s\" is no page of Modal's sandboxes; begin again",
                            cursor);
    enum sandlot_status status = api_app(call, provider, false, &app_id);

    if (status != SANDLOT_OK || !*app_id)
        return status;
    status = ask(call, provider, app_id, before, &answer);
    for (size_t i = 0; status == SANDLOT_OK && i < answer->n_sandboxes; i++)
        status = add_item(listing, answer->sandboxes[i]);
    if (status != SANDLOT_OK || answer->n_sandboxes == 0)
        return status;
    double last = answer->sandboxes[answer->n_sandboxes - 1]->created_at;

    if (!(last > 0 && last < 1e11) || (before > 0 && last >= before))
        return sandlot_fail(call, SANDLOT_INTERNAL, "Modal's list of sandboxes does not come to an end; try again");
    snprintf(next, sizeof(next), "%.17g", last);
    listing->next(listing, next);
    return SANDLOT_OK;
}

/*
 * A worker makes an image of a sandbox's files while it runs. An image has an id and no name until it is published
 * under one; those that are published can be listed.
 */
#include "operations.h"

#include "create.h"
#include "message.h"
#include "origin.h"
#include "policy.h"

#include <sandlot/sdk/attempt.h>

#include <string.h>

enum { SNAPSHOT_MS = 10 * 60 * 1000, CLEANUP_MS = 900, KEPT_FOR_EVER = -1, PAGE = 100, FORK_LIFE_S = 24 * 3600 };

/* ---- making ----------------------------------------------------------------------------------------------------- */

/* The id of an image of sandbox ID, kept for LIFE_S seconds; to be freed. */
static enum sandlot_status capture(struct sandlot_call *call, struct modal *modal, const char *id, int64_t life_s,
                                   char **image_id)
{
    Modal__TaskSnapshotFilesystemRequest request = MODAL__TASK_SNAPSHOT_FILESYSTEM_REQUEST__INIT;
    const struct rpc rpc = {.name = "TaskSnapshotFilesystem",
                            .request = &request.base,
                            .answer = &modal__image_id__descriptor,
                            /* who is told that time is up, or that nobody waits, has waited long enough */
                            .accepted = GRPC_BIT(GRPC_NOT_FOUND) | GRPC_BIT(GRPC_FAILED_PRECONDITION) |
                                        GRPC_BIT(GRPC_CANCELLED) | GRPC_BIT(GRPC_DEADLINE_EXCEEDED),
                            .timeout_ms = SNAPSHOT_MS};
    AUTO_MESSAGE Modal__ImageId *answer = NULL;
    struct sandbox *sandbox = NULL;
    struct refusal refusal = {0};
    char key[GRPC_KEY_SIZE]; /* the same for every attempt: there is one snapshot of it */
    enum sandlot_status status = sandbox_open(call, modal, id, NULL, NULL, NULL, &sandbox);

    if (status == SANDLOT_OK)
        status = sandbox_reach(call, sandbox);
    if (status == SANDLOT_OK) {
        grpc_new_key(key);
        request.task_id = (char *)sandbox_task(sandbox);
        request.snapshot_id = key;
        request.ttl_seconds = life_s;
        status = sandbox_call(call, sandbox, &rpc, &refusal, &answer);
    }
    if (status == SANDLOT_OK && refusal.code != GRPC_OK)
        status = sandbox_fail(call, sandbox, "make a snapshot", &refusal);
    if (status == SANDLOT_OK && !*answer->image_id)
        status = sandlot_fail(call, SANDLOT_INTERNAL, "Modal made a snapshot without an id; try again");
    if (status == SANDLOT_OK)
        status = api_copy(call, answer->image_id, image_id);
    sandbox_release(modal, sandbox);
    return status;
}

static enum sandlot_status remove_image(struct sandlot_call *call, struct modal *modal, const char *image_id)
{
    Modal__ImageId request = MODAL__IMAGE_ID__INIT;
    const struct rpc rpc = {.name = "ImageDelete", .request = &request.base, .accepted = GRPC_BIT(GRPC_NOT_FOUND)};

    request.image_id = (char *)image_id;
    return api_call(call, modal, &rpc, NULL, NULL);
}

static enum sandlot_status publish(struct sandlot_call *call, struct modal *modal, const char *image_id,
                                   const char *name)
{
    Modal__ImagePublishRequest request = MODAL__IMAGE_PUBLISH_REQUEST__INIT;
    const struct rpc rpc = {.name = "ImagePublish", .request = &request.base};
    AUTO_FREE char *tag = origin_tag(name);

    if (!tag)
        return api_no_memory(call);
    request.image_id = (char *)image_id;
    request.tag = tag;
    request.environment_name = origin_environment(modal, name);
    return api_call(call, modal, &rpc, NULL, NULL);
}

/* How many bytes of TAG its name has as it is listed: the latest of a name goes without tag. */
static size_t length_of_name(const char *tag)
{
    static const char latest[] = ":latest";
    size_t length = strlen(tag);
    size_t tail = sizeof(latest) - 1;

    return length > tail && strcmp(tag + length - tail, latest) == 0 ? length - tail : length;
}

enum sandlot_status snapshots_make(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                   const struct sandlot_sink *result)
{
    AUTO_FREE char *image_id = NULL;

    if (strncmp(name, "im-", 3) == 0)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "the name of a snapshot must not begin with im-, as ids do; choose another");
    enum sandlot_status status = capture(call, provider, id, KEPT_FOR_EVER, &image_id);

    if (status != SANDLOT_OK)
        return status;
    status = publish(call, provider, image_id, name);
    if (status == SANDLOT_OK)
        return result->write(result, name, length_of_name(name));
    struct attempt cleanup; /* what nobody can name would stay for ever */

    attempt_begin_urgent(&cleanup, call, CLEANUP_MS);
    remove_image(&cleanup.call, provider, image_id);
    return status;
}

/* ---- listing and deleting --------------------------------------------------------------------------------------- */

static enum sandlot_status add_item(const struct sandlot_listing *listing, const Modal__ImageListTagsItem *item)
{
    AUTO_FREE char *name = strndup(item->tag, length_of_name(item->tag));
    bool known = item->created_at > 0 && item->created_at < 1e11;
    const struct sandlot_listed listed = {.size = sizeof(listed),
                                          .id = name ? name : item->tag,
                                          .state = "ready",
                                          .created_at_ms = known ? (int64_t)(item->created_at * 1000) : 0};

    return listing->add(listing, &listed);
}

enum sandlot_status snapshots_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing)
{
    struct modal *modal = provider;
    Modal__ImageListTagsRequest request = MODAL__IMAGE_LIST_TAGS_REQUEST__INIT;
    const struct rpc rpc = {
        .name = "ImageListTags", .request = &request.base, .answer = &modal__image_list_tags_response__descriptor};
    AUTO_MESSAGE Modal__ImageListTagsResponse *answer = NULL;
    enum sandlot_status status = api_settle(call, modal);

    if (status != SANDLOT_OK)
        return status;
    request.environment_name = (char *)modal->settings.environment;
    request.max_objects = PAGE;
    if (cursor)
        request.page_token = (char *)cursor;
    status = api_call(call, modal, &rpc, NULL, &answer);
    for (size_t i = 0; status == SANDLOT_OK && i < answer->n_items; i++)
        status = add_item(listing, answer->items[i]);
    if (status == SANDLOT_OK && *answer->next_page_token)
        listing->next(listing, answer->next_page_token);
    return status;
}

enum sandlot_status snapshots_delete(struct sandlot_call *call, void *provider, const char *name)
{
    AUTO_FREE char *image_id = NULL;
    enum sandlot_status status = origin_by_name(call, provider, name, &image_id);

    return status == SANDLOT_OK ? remove_image(call, provider, image_id) : status;
}

/* ---- forking ---------------------------------------------------------------------------------------------------- */

/* The image in between goes by itself: the copy may still be read from it after this. */
enum sandlot_status snapshots_fork(struct sandlot_call *call, void *provider, const char *id,
                                   const struct sandlot_create *request)
{
    AUTO_FREE char *image_id = NULL;
    enum sandlot_status status = policy_check(call, provider, network_asked(request));

    if (status == SANDLOT_OK)
        status = capture(call, provider, id, FORK_LIFE_S, &image_id);

    if (status != SANDLOT_OK)
        return status;
    struct sandlot_create copy = {.size = sizeof(copy),
                                  .snapshot = image_id,
                                  .run_label = request->run_label,
                                  .labels = request->labels,
                                  .label_count = request->label_count,
                                  .idle_ttl_ms = request->idle_ttl_ms,
                                  .hard_ttl_ms = request->hard_ttl_ms,
                                  .flags = request->flags,
                                  .network = network_asked(request)};

    return create_sandbox(call, provider, &copy, NULL);
}

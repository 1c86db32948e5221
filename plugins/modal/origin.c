#include "origin.h"

#include "message.h"

#include <sandlot/sdk/pause.h>
#include <sandlot/sdk/text_format.h>

#include <string.h>

enum {
    JOIN_S = 55,               /* that one stream waits for a build */
    BUILD_MS = 30 * 60 * 1000, /* where nobody has set a deadline */
    FIRST_PAUSE_MS = 200,
    MOST_BREAKS = 10,
    LONGEST_LOG_LINE = 200
};

/* A build that is waited for. */
struct build {
    struct sandlot_call *call;
    char entry_id[128]; /* of the last entry that was heard */
    int outcome;
    char exception[300];
    char last_line[LONGEST_LOG_LINE];
    size_t entries;
};

/* ---- from a registry -------------------------------------------------------------------------------------------- */

/* The version of Modal's own image builder, part of every image's definition. */
static enum sandlot_status builder_version(struct sandlot_call *call, struct modal *modal, char **version)
{
    Modal__EnvironmentGetOrCreateRequest request = MODAL__ENVIRONMENT_GET_OR_CREATE_REQUEST__INIT;
    const struct rpc rpc = {.name = "EnvironmentGetOrCreate",
                            .request = &request.base,
                            .answer = &modal__environment_get_or_create_response__descriptor};
    AUTO_MESSAGE Modal__EnvironmentGetOrCreateResponse *answer = NULL;

    pthread_mutex_lock(&modal->lock);
    const char *known = modal->settings.builder_version ? modal->settings.builder_version : modal->builder_version;
    enum sandlot_status status = known ? api_copy(call, known, version) : SANDLOT_OK;

    pthread_mutex_unlock(&modal->lock);
    if (known)
        return status;
    request.deployment_name = (char *)modal->settings.environment;
    status = api_call(call, modal, &rpc, NULL, &answer);
    if (status != SANDLOT_OK)
        return status;
    const Modal__EnvironmentMetadata *metadata = answer->metadata;

    status = api_copy(call, metadata && metadata->settings ? metadata->settings->image_builder_version : "", version);
    if (status != SANDLOT_OK)
        return status;
    pthread_mutex_lock(&modal->lock);
    if (!modal->builder_version)
        modal->builder_version = strdup(*version);
    pthread_mutex_unlock(&modal->lock);
    return SANDLOT_OK;
}

static void keep_result(struct build *build, const Modal__GenericResult *result)
{
    if (!result || result->status == MODAL__OUTCOME__NONE)
        return;
    build->outcome = (int)result->status;
    snprintf(build->exception, sizeof(build->exception), "%s", result->exception);
}

/* Shows the last line of what the builder prints. */
static void show_log(struct build *build, const char *data)
{
    size_t length = strcspn(data, "\r\n");
    size_t used = 0;

    for (size_t i = 0; i < length && used < sizeof(build->last_line) - 1; i++)
        if ((unsigned char)data[i] >= ' ' && data[i] != 0x7f)
            build->last_line[used++] = data[i];
    build->last_line[used] = '\0';
    if (used > 0)
        build->call->host->log(build->call, SANDLOT_LOG_INFO, build->last_line);
}

static enum sandlot_status on_progress(void *context, const void *message, size_t length)
{
    struct build *build = context;
    AUTO_MESSAGE Modal__ImageJoinStreamingResponse *answer = NULL;
    enum sandlot_status status = api_unpack(
        build->call, "ImageJoinStreaming", &modal__image_join_streaming_response__descriptor, message, length, &answer);

    if (status != SANDLOT_OK)
        return status;
    if (*answer->entry_id && strlen(answer->entry_id) < sizeof(build->entry_id))
        snprintf(build->entry_id, sizeof(build->entry_id), "%s", answer->entry_id);
    for (size_t i = 0; i < answer->n_task_logs; i++)
        show_log(build, answer->task_logs[i]->data);
    build->call->host->progress(build->call, "building the image", ++build->entries, 0);
    keep_result(build, answer->result);
    return SANDLOT_OK;
}

/* Listens until the build is over. A stream that ends without its result is no failure: another one goes on. */
static enum sandlot_status join(struct sandlot_call *call, struct modal *modal, const char *image_id,
                                struct build *build)
{
    Modal__ImageJoinStreamingRequest request = MODAL__IMAGE_JOIN_STREAMING_REQUEST__INIT;
    const struct rpc rpc = {.name = "ImageJoinStreaming",
                            .request = &request.base,
                            .accepted = GRPC_TRANSIENT,
                            .on_message = on_progress,
                            .context = build};
    struct pause pause = {.service = "Modal", .first_ms = FIRST_PAUSE_MS, .limit_ms = BUILD_MS};
    int breaks = 0;

    request.image_id = (char *)image_id;
    request.timeout = JOIN_S;
    while (build->outcome == MODAL__OUTCOME__NONE) {
        int code = GRPC_OK;
        size_t before = build->entries;

        request.last_entry_id = build->entry_id;
        enum sandlot_status status = api_call(call, modal, &rpc, &code, NULL);

        breaks = code == GRPC_OK || build->entries > before ? 0 : breaks + 1;
        bool again = status == SANDLOT_OK && build->outcome == MODAL__OUTCOME__NONE;

        if (again && (breaks > MOST_BREAKS || !pause_again(call, &pause, &status)) && status == SANDLOT_OK)
            status = sandlot_fail(call, SANDLOT_UNAVAILABLE,
                                  "Modal does not tell how the build of the image goes; try "
                                  "again, it goes on meanwhile");
        if (status != SANDLOT_OK)
            return status;
    }
    return SANDLOT_OK;
}

static enum sandlot_status fail_build(struct sandlot_call *call, const char *image, const struct build *build)
{
    bool again = build->outcome == MODAL__OUTCOME__TERMINATED || build->outcome == MODAL__OUTCOME__TIMEOUT;
    const char *why = *build->exception   ? build->exception
                      : *build->last_line ? build->last_line
                                          : "no reason is given";

    return sandlot_fail(call, again ? SANDLOT_UNAVAILABLE : SANDLOT_INVALID_ARGUMENT,
                        "Modal could not build an image from \"%.200s\": %.400s; %s", image, why,
                        again ? "try again" : "check its name, and whether it may be pulled");
}

static enum sandlot_status build_image(struct sandlot_call *call, struct modal *modal, const char *app_id,
                                       const char *image, char **image_id)
{
    Modal__Image definition = MODAL__IMAGE__INIT;
    Modal__ImageGetOrCreateRequest request = MODAL__IMAGE_GET_OR_CREATE_REQUEST__INIT;
    const struct rpc rpc = {.name = "ImageGetOrCreate",
                            .request = &request.base,
                            .answer = &modal__image_get_or_create_response__descriptor};
    AUTO_MESSAGE Modal__ImageGetOrCreateResponse *answer = NULL;
    AUTO_FREE char *version = NULL;
    AUTO_FREE char *from = NULL;
    struct build build = {.call = call};
    enum sandlot_status status = builder_version(call, modal, &version);

    if (status == SANDLOT_OK && asprintf(&from, "FROM %s", image) < 0)
        status = api_no_memory(call);
    if (status != SANDLOT_OK)
        return status;
    definition.dockerfile_commands = &from;
    definition.n_dockerfile_commands = 1;
    request.image = &definition;
    request.app_id = (char *)app_id;
    request.builder_version = version;
    status = api_call(call, modal, &rpc, NULL, &answer);
    if (status != SANDLOT_OK)
        return status;
    if (!*answer->image_id)
        return sandlot_fail(call, SANDLOT_INTERNAL, "Modal answered ImageGetOrCreate without an id; try again");
    keep_result(&build, answer->result);
    if (build.outcome == MODAL__OUTCOME__NONE)
        status = join(call, modal, answer->image_id, &build);
    if (status == SANDLOT_OK && build.outcome != MODAL__OUTCOME__SUCCESS)
        status = fail_build(call, image, &build);
    return status == SANDLOT_OK ? api_copy(call, answer->image_id, image_id) : status;
}

/* ---- by name ---------------------------------------------------------------------------------------------------- */

char *origin_tag(const char *name)
{
    return text_format("%s%s", name, strchr(name, ':') ? "" : ":latest");
}

char *origin_environment(const struct modal *modal, const char *name)
{
    return (char *)(strchr(name, '/') ? "" : modal->settings.environment);
}

enum sandlot_status origin_by_name(struct sandlot_call *call, struct modal *modal, const char *name, char **image_id)
{
    Modal__ImageGetByTagRequest request = MODAL__IMAGE_GET_BY_TAG_REQUEST__INIT;
    const struct rpc rpc = {.name = "ImageGetByTag",
                            .request = &request.base,
                            .answer = &modal__image_id__descriptor,
                            .accepted = GRPC_BIT(GRPC_NOT_FOUND)};
    AUTO_MESSAGE Modal__ImageId *answer = NULL;
    AUTO_FREE char *tag = origin_tag(name);
    int code = GRPC_OK;

    *image_id = NULL;
    if (strncmp(name, "im-", 3) == 0)
        return api_copy(call, name, image_id);
    enum sandlot_status status = tag ? api_settle(call, modal) : api_no_memory(call);

    if (status != SANDLOT_OK)
        return status;
    request.tag = tag;
    request.environment_name = origin_environment(modal, name);
    status = api_call(call, modal, &rpc, &code, &answer);
    if (status != SANDLOT_OK)
        return status;
    if (code != GRPC_OK || !*answer->image_id)
        return sandlot_fail(call, SANDLOT_NOT_FOUND, "Modal has no snapshot or image \"%.100s\"; check the name", name);
    return api_copy(call, answer->image_id, image_id);
}

enum sandlot_status origin_find(struct sandlot_call *call, struct modal *modal, const char *app_id,
                                const char *snapshot, char **image_id)
{
    const struct parameters *parameters = &modal->parameters;
    const char *image = parameters->image;

    *image_id = NULL;
    snapshot = snapshot ? snapshot : parameters->snapshot;
    if (parameter_is_said(snapshot))
        return origin_by_name(call, modal, snapshot, image_id);
    if (!parameter_is_said(image))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "image is empty; name one, such as debian:12");
    /* The image stands in a Dockerfile, where a blank or a newline would begin something else. */
    if (!text_is_word(image))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "image has a blank or a control character; name an image such as debian:12");
    return build_image(call, modal, app_id, image, image_id);
}

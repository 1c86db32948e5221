#include "container.h"

#include <sandlot/sdk/cleanup.h>

#include <ctype.h>
#include <string.h>

static const int not_there[] = {404, 0};

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* dockerd shows the archive calls a root of their own, without what is mounted from memory, and refuses to write to one
 * that is read-only. */
static bool reaches_files(struct json_object *document)
{
    struct json_object *memory = NULL;
    struct json_object *mounts = NULL;
    bool read_only = false;

    json_find_boolean(document, "HostConfig.ReadonlyRootfs", &read_only, NULL);
    json_find_object(document, "HostConfig.Tmpfs", &memory, NULL);
    json_find_array(document, "HostConfig.Mounts", &mounts, NULL);
    return !read_only && (!memory || json_object_object_length(memory) == 0) &&
           (!mounts || json_object_array_length(mounts) == 0);
}

static bool is_id(const char *text)
{
    size_t length = 0;

    while (isxdigit((unsigned char)text[length]))
        length++;
    return length >= CONTAINER_ID && text[length] == '\0';
}

static enum sandlot_status read_container(struct sandlot_call *call, struct json_object *document,
                                          struct container *container)
{
    struct json_error error;
    const char *id;

    *container = (struct container){.state = "", .run_label = "", .user = "", .working_dir = ""};
    if (!json_read_string(document, "Id", &id, &error) ||
        !json_read_boolean(document, "State.Running", &container->running, &error) ||
        !json_find_boolean(document, "State.Paused", &container->paused, &error) ||
        !json_find_string(document, "State.Status", &container->state, &error) ||
        !json_find_string(document, "Config.Labels.\"" LABEL_RUN "\"", &container->run_label, &error) ||
        !json_find_string(document, "Config.User", &container->user, &error) ||
        !json_find_string(document, "Config.WorkingDir", &container->working_dir, &error))
        return json_fail(call, "the container engine's record of a container", &error);
    if (!is_id(id))
        return sandlot_fail(call, SANDLOT_INTERNAL,
                            "the container engine's record of a container has no id that makes sense; report it");
    snprintf(container->id, sizeof(container->id), "%s", id);
    container->archive = reaches_files(document);
    container->document = json_object_get(document);
    return SANDLOT_OK;
}

enum sandlot_status container_find(struct sandlot_call *call, struct docker *docker, const char *id,
                                   struct container *container)
{
    AUTO_DOCUMENT struct json_object *document = NULL;
    const struct engine_order order = {
        .method = "GET", .target = http_target("/containers/{}/json", id), .accepted = not_there};
    int code = 0;

    *container = (struct container){0};
    enum sandlot_status status = engine_order(call, docker, &order, &code, &document, NULL);

    if (status != SANDLOT_OK || code == 404)
        return status;
    return document ? read_container(call, document, container)
                    : sandlot_fail(call, SANDLOT_UNAVAILABLE,
                                   "the container engine says nothing of container %.100s; try again", id);
}

enum sandlot_status container_get(struct sandlot_call *call, struct docker *docker, const char *id,
                                  struct container *container)
{
    enum sandlot_status status = container_find(call, docker, id, container);

    if (status == SANDLOT_OK && !container->document)
        return sandlot_fail(call, SANDLOT_NOT_FOUND,
                            "there is no container %.100s at the engine; sandlot list shows those that there are", id);
    return status;
}

void container_clear(struct container *container)
{
    json_object_put(container->document);
    *container = (struct container){0};
}

/* ---- changing ---------------------------------------------------------------------------------------------------- */

enum sandlot_status container_order(struct sandlot_call *call, struct docker *docker, const char *id,
                                    const char *action, bool *done, char *said)
{
    const struct engine_order order = {.method = "POST",
                                       .target = http_target("/containers/{}/{}", id, action),
                                       .accepted = engine_refusals,
                                       .slow = true};
    int code = 0;
    enum sandlot_status status = engine_order(call, docker, &order, &code, NULL, said);

    *done = status == SANDLOT_OK && code <= 304;
    return status;
}

static enum sandlot_status wake_by(struct sandlot_call *call, struct docker *docker, const struct container *container,
                                   const char *action)
{
    AUTO_CONTAINER struct container now = {0};
    char said[ENGINE_SAID];
    bool done;
    enum sandlot_status status = container_order(call, docker, container->id, action, &done, said);

    if (status != SANDLOT_OK || done)
        return status;
    status = container_get(call, docker, container->id, &now); /* somebody else may have been faster */
    if (status != SANDLOT_OK || (now.running && !now.paused))
        return status;
    return sandlot_fail(call, SANDLOT_UNAVAILABLE, "container %s could not be brought to run: %.300s; try again",
                        container->id, *said ? said : "the engine does not say why");
}

enum sandlot_status container_wake(struct sandlot_call *call, struct docker *docker, const struct container *container)
{
    if (container->paused)
        return wake_by(call, docker, container, "unpause");
    return container->running ? SANDLOT_OK : wake_by(call, docker, container, "start");
}

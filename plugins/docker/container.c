#include "container.h"

#include "tar_source.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/pause.h>

#include <ctype.h>
#include <string.h>

enum { KIND_ADDED = 1 /* among what differs from the image */ };

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

/* An init process ("/sbin/docker-init -- sleep 60") forks, and its child has the same words until it has become the
 * program. No list, or one of another shape, is nothing to go by. */
static bool waits_for_program(struct json_object *processes)
{
    size_t count = processes ? json_object_array_length(processes) : 0;

    for (size_t i = 0; i < count; i++) {
        struct json_object *columns = json_object_array_get_idx(processes, i);
        size_t width = json_object_is_type(columns, json_type_array) ? json_object_array_length(columns) : 0;
        const char *command = width > 0 ? json_object_get_string(json_object_array_get_idx(columns, width - 1)) : NULL;

        if (!command || !strstr(command, " -- " CONTAINER_PROGRAM " "))
            return false;
    }
    return count > 0;
}

enum sandlot_status container_begin(struct sandlot_call *call, struct docker *docker, struct container *container)
{
    static const int refusals[] = {403, 404, 409, 500, 501, 0}; /* 403: proxies that let only some calls through */
    struct pause pause = {.service = "the container engine", .first_ms = 20, .longest_ms = 500, .limit_ms = 10000};
    bool has_init = false;
    bool begun = false;
    int code = 200;
    enum sandlot_status status = SANDLOT_OK;

    json_find_boolean(container->document, "HostConfig.Init", &has_init, NULL);
    if (!has_init || !container->running)
        return SANDLOT_OK;
    do {
        AUTO_DOCUMENT struct json_object *answer = NULL;
        struct json_object *processes = NULL;
        const struct engine_order order = {
            .method = "GET", .target = http_target("/containers/{}/top", container->id), .accepted = refusals};

        status = engine_order(call, docker, &order, &code, &answer, NULL);
        if (status == SANDLOT_OK && answer)
            json_find_array(answer, "Processes", &processes, NULL);
        begun = !waits_for_program(processes);
    } while (status == SANDLOT_OK && !begun && pause_again(call, &pause, &status));
    if (status != SANDLOT_OK || code < 300)
        return status;

    AUTO_CONTAINER struct container before = *container;

    return container_find(call, docker, before.id, container);
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

/* ---- for users that are not root --------------------------------------------------------------------------------- */

/* By the mode of the folder itself: of the user, who may be a name, only the image knows the number. */
enum sandlot_status container_unlock(struct sandlot_call *call, struct docker *docker, const char *id, const char *path)
{
    const struct sandlot_file folder = {.path = path, .mode = 01777};
    const size_t outer_length = (size_t)(strrchr(path, '/') - path);
    AUTO_FREE char *outer = strndup(path, outer_length ? outer_length : 1);
    AUTO_FREE char *target = outer ? http_target("/containers/{}/archive?path={}", id, outer) : NULL;
    AUTO_RESPONSE struct http_response response = {0};
    struct tar_source tar;

    tar_source_init(&tar, call, &folder, 1, outer_length);
    tar.type = TAR_FOLDER;
    const struct http_request request = {.method = "PUT",
                                         .target = target,
                                         .type = "application/x-tar",
                                         .body = {.source = &tar.source, .length = tar.length}};

    return engine_send(call, docker, &request, &response);
}

/* Was PATH made for the container, and is not its image's? What cannot be told was not. */
static enum sandlot_status is_new(struct sandlot_call *call, struct docker *docker, const char *id, const char *path,
                                  bool *made)
{
    const struct engine_order order = {.method = "GET",
                                       .target = http_target("/containers/{}/changes", id),
                                       .accepted = engine_refusals,
                                       .slow = true};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct json_object *changes = NULL;
    int code = 0;
    enum sandlot_status status = engine_order(call, docker, &order, &code, &answer, NULL);

    *made = false;
    if (status == SANDLOT_OK && code < 300)
        json_find_array(answer, "", &changes, NULL);
    for (size_t i = 0; changes && i < json_object_array_length(changes) && !*made; i++) {
        struct json_object *change = json_object_array_get_idx(changes, i);
        int64_t kind = 0;

        json_find_integer(change, "Kind", &kind, NULL);
        *made = kind == KIND_ADDED && json_says(change, "Path", path);
    }
    return status;
}

static bool is_mounted(struct json_object *document, const char *path)
{
    struct json_object *mounts = NULL;
    bool covered = false;

    json_find_array(document, "HostConfig.Mounts", &mounts, NULL);
    for (size_t i = 0; mounts && i < json_object_array_length(mounts) && !covered; i++) {
        const char *target = "";

        json_find_string(json_object_array_get_idx(mounts, i), "Target", &target, NULL);
        size_t length = strlen(target);

        while (length > 0 && target[length - 1] == '/')
            length--;
        covered = strncmp(target, path, length) == 0 && (path[length] == '/' || path[length] == '\0');
    }
    return covered;
}

enum sandlot_status container_unlock_work(struct sandlot_call *call, struct docker *docker,
                                          const struct container *container)
{
    const char *path = container->working_dir;
    bool read_only = false;
    bool wanted = false;

    json_find_boolean(container->document, "HostConfig.ReadonlyRootfs", &read_only, NULL);
    if (docker->podman || read_only || *path != '/' || is_mounted(container->document, path))
        return SANDLOT_OK;
    enum sandlot_status status = is_new(call, docker, container->id, path, &wanted);

    return status == SANDLOT_OK && wanted ? container_unlock(call, docker, container->id, path) : status;
}

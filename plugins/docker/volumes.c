#include "volumes.h"

#include "tar_source.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/pause.h>

#include <pwd.h>
#include <string.h>
#include <unistd.h>

/* On a container, before a volume's name: "yes" where others may write to it too. One made of a snapshot has the labels
 * of what that was made of, so "no" is said as well. */
#define LABEL_SHARED "sandlot-shared-"

enum { CONTEST_MS = 60 * 1000, FIRST_PAUSE_MS = 50, LONGEST_PAUSE_MS = 500, USER_RECORD = 4096 };

static size_t count_of(const struct sandlot_create *request)
{
    return SANDLOT_HAS(request, volume_count) ? request->volume_count : 0;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static bool is_owner(const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    const size_t length = strspn(text, plain);

    return length > 0 && length < VOLUME_OWNER && text[length] == '\0';
}

enum sandlot_status volumes_owner(struct sandlot_call *call, const struct docker *docker, char owner[VOLUME_OWNER])
{
    const char *said = docker->parameters.owner;
    struct passwd entry;
    struct passwd *found = NULL;
    char record[USER_RECORD];

    if (parameter_is_said(said) && !is_owner(said))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "the parameter owner is no name for one; use at most 64 letters, digits, \"_\", \".\" and "
                            "\"-\"");
    if (!parameter_is_said(said) && getpwuid_r(geteuid(), &entry, record, sizeof(record), &found) == 0 && found &&
        is_owner(found->pw_name))
        said = found->pw_name;
    if (parameter_is_said(said))
        snprintf(owner, VOLUME_OWNER, "%s", said);
    else
        snprintf(owner, VOLUME_OWNER, "%u", (unsigned int)geteuid());
    return SANDLOT_OK;
}

/* A volume's name has no capitals, so no two volumes of two owners can have one name. */
void volumes_engine_name(const char *name, const char *owner, char engine_name[VOLUME_ENGINE_NAME])
{
    snprintf(engine_name, VOLUME_ENGINE_NAME, "sandlot-%.63s-OF-%s", name, owner);
}

bool volumes_is_ours(struct json_object *document, const char *name, const char *owner)
{
    const char *its_name = "";
    const char *its_owner = "";

    json_find_string(document, "Labels.\"" LABEL_VOLUME "\"", &its_name, NULL);
    json_find_string(document, "Labels.\"" LABEL_OWNER "\"", &its_owner, NULL);
    return strcmp(its_name, name) == 0 && strcmp(its_owner, owner) == 0;
}

enum sandlot_status volumes_refuse_strange(struct sandlot_call *call, const char *engine_name, const char *owner)
{
    return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                        "the container engine has a volume %s that Sandlot did not make for %s; remove it there, or "
                        "choose another name",
                        engine_name, owner);
}

/* ---- making them ------------------------------------------------------------------------------------------------- */

/* Is PATH the folder OUTER, or in it? */
static bool lies_in(const char *path, const char *outer)
{
    const size_t length = strlen(outer);

    return strncmp(path, outer, length) == 0 && (!path[length] || path[length] == '/');
}

static enum sandlot_status judge(struct sandlot_call *call, const struct parameters *wanted,
                                 const struct sandlot_volume *volume)
{
    static const char *const own[] = {"/proc", "/sys", "/dev"};
    const char *taken = lies_in(volume->path, wanted->working_dir) || lies_in(wanted->working_dir, volume->path)
                            ? wanted->working_dir
                            : NULL;

    if (wanted->read_only && strcmp(volume->path, "/tmp") == 0)
        taken = volume->path;
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
        if (lies_in(volume->path, own[i]))
            taken = own[i];
    if (taken)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "the volume %.64s cannot be at %.300s: %.300s is the sandbox's own, or what it works in; "
                            "name another folder",
                            volume->name, volume->path, taken);
    if (strlen(strrchr(volume->path, '/')) > TAR_LONGEST_NAME)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "the volume %.64s has a path whose last name is longer than %d bytes; shorten it",
                            volume->name, TAR_LONGEST_NAME - 1);
    if (volume->limit_bytes > 0)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "a container engine holds no volume to a limit, and %.64s has one; leave its limit_mb out",
                            volume->name);
    return SANDLOT_OK;
}

static void set_labels(struct json_builder *body, const char *path, const char *name, const char *owner)
{
    json_set_member(body, path, LABEL_VOLUME, name);
    json_set_member(body, path, LABEL_OWNER, owner);
}

/* The engine answers with the volume also where it was there before. */
static enum sandlot_status make(struct sandlot_call *call, struct docker *docker, const char *name, const char *owner)
{
    struct engine_order order = {.method = "POST", .target = http_target("/volumes/create"), .slow = true};
    struct json_builder body = {0};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    char engine_name[VOLUME_ENGINE_NAME];

    volumes_engine_name(name, owner, engine_name);
    json_set_string(&body, "Name", engine_name);
    set_labels(&body, "Labels", name, owner);
    order.body = json_finish(&body, NULL);
    enum sandlot_status status = engine_order(call, docker, &order, NULL, &answer, NULL);

    if (status != SANDLOT_OK || volumes_is_ours(answer, name, owner))
        return status;
    return volumes_refuse_strange(call, engine_name, owner);
}

enum sandlot_status volumes_prepare(struct sandlot_call *call, struct docker *docker,
                                    const struct sandlot_create *request, char owner[VOLUME_OWNER])
{
    const size_t count = count_of(request);
    enum sandlot_status status = count > 0 ? volumes_owner(call, docker, owner) : SANDLOT_OK;

    for (size_t i = 0; i < count && status == SANDLOT_OK; i++)
        status = judge(call, &docker->parameters, &request->volumes[i]);
    for (size_t i = 0; i < count && status == SANDLOT_OK; i++)
        status = make(call, docker, request->volumes[i].name, owner);
    return status;
}

/* The labels are there again for an engine that finds the volume gone meanwhile, and makes it anew. */
static void set_mount(struct json_builder *body, const struct sandlot_volume *volume, const char *owner)
{
    struct json_builder mount = {0};
    char name[VOLUME_ENGINE_NAME];

    volumes_engine_name(volume->name, owner, name);
    json_set_string(&mount, "Type", "volume");
    json_set_string(&mount, "Source", name);
    json_set_string(&mount, "Target", volume->path);
    json_set_boolean(&mount, "ReadOnly", volume->flags & SANDLOT_VOLUME_READ_ONLY);
    json_set_boolean(&mount, "VolumeOptions.NoCopy", true);
    set_labels(&mount, "VolumeOptions.Labels", volume->name, owner);
    body->failed |= mount.failed;
    json_set_value(body, "HostConfig.Mounts[]", mount.root);
}

void volumes_set(struct json_builder *body, const struct sandlot_create *request, const char *owner)
{
    for (size_t i = 0; i < count_of(request); i++) {
        const struct sandlot_volume *volume = &request->volumes[i];
        char label[sizeof(LABEL_SHARED) + VOLUME_NAME];

        snprintf(label, sizeof(label), LABEL_SHARED "%.63s", volume->name);
        json_set_member(body, "Labels", label, volume->flags & SANDLOT_VOLUME_MANY_WRITERS ? "yes" : "no");
        set_mount(body, volume, owner);
    }
}

/* ---- who has them ------------------------------------------------------------------------------------------------ */

enum sandlot_status volumes_containers(struct sandlot_call *call, struct docker *docker, const char *engine_name,
                                       struct json_object **items)
{
    char filters[VOLUME_ENGINE_NAME + 32];
    struct json_error error;

    snprintf(filters, sizeof(filters), "{\"volume\":[\"%s\"]}", engine_name);
    const struct engine_order order = {.method = "GET",
                                       .target = http_target("/containers/json?all=1&filters={}", filters)};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct json_object *found = NULL;
    enum sandlot_status status = engine_order(call, docker, &order, NULL, &answer, NULL);

    if (status == SANDLOT_OK && !json_read_array(answer, "", &found, &error))
        return json_fail(call, "the container engine's list", &error);
    *items = json_object_get(found);
    return status;
}

enum volume_use volumes_use(struct json_object *item, const char *engine_name)
{
    struct json_object *mounts = NULL;
    enum volume_use use = VOLUME_UNUSED;
    const char *state = "";

    json_find_string(item, "State", &state, NULL);
    json_find_array(item, "Mounts", &mounts, NULL);
    if (strcmp(state, "removing") == 0 || strcmp(state, "dead") == 0)
        return VOLUME_UNUSED;
    for (size_t i = 0; mounts && i < json_object_array_length(mounts); i++) {
        struct json_object *mount = json_object_array_get_idx(mounts, i);
        const char *name = "";
        bool writable = true;

        json_find_string(mount, "Name", &name, NULL);
        json_find_boolean(mount, "RW", &writable, NULL);
        if (strcmp(name, engine_name) == 0 && use != VOLUME_WRITTEN)
            use = writable ? VOLUME_WRITTEN : VOLUME_READ;
    }
    return use;
}

/* Does the container of ITEM share VOLUME with those that say the same? */
static bool shares(struct json_object *item, const struct sandlot_volume *volume)
{
    char path[sizeof("Labels.\"\"" LABEL_SHARED) + VOLUME_NAME];
    const char *said = "";

    snprintf(path, sizeof(path), "Labels.\"" LABEL_SHARED "%.63s\"", volume->name);
    json_find_string(item, path, &said, NULL);
    return volume->flags & SANDLOT_VOLUME_MANY_WRITERS && strcmp(said, "yes") == 0;
}

/* A container that is not started yet, and a volume that it would write to. */
struct claim {
    struct sandlot_call *call;
    const struct sandlot_volume *volume;
    char engine_name[VOLUME_ENGINE_NAME];
    const char *id;
};

static enum sandlot_status refuse(const struct claim *claim, const char *other)
{
    const char *name = claim->volume->name;

    return sandlot_fail(claim->call, SANDLOT_EXHAUSTED,
                        "the volume %s has one writer at a time, and the sandbox %.12s writes to it; delete that one, "
                        "take the volume to read only (:ro), or say writers = \"many\" in [sandboxes.volumes.%s] for "
                        "both",
                        name, other, name);
}

/*
 * All make their container first and look then, so of two at least one sees the other. What is started has won; of
 * those that are not the one with the greater id gives way, and the other one waits until it is gone. *CONTESTED: wait;
 * never when it is the LAST look.
 */
static enum sandlot_status judge_others(const struct claim *claim, struct json_object *items, bool last,
                                        bool *contested)
{
    *contested = false;
    for (size_t i = 0; i < json_object_array_length(items); i++) {
        struct json_object *item = json_object_array_get_idx(items, i);
        const char *other = "";
        const char *state = "";

        json_find_string(item, "Id", &other, NULL);
        json_find_string(item, "State", &state, NULL);
        const int order = strncmp(other, claim->id, CONTAINER_ID);

        if (order == 0 || volumes_use(item, claim->engine_name) != VOLUME_WRITTEN || shares(item, claim->volume))
            continue;
        if (last || order < 0 || strcmp(state, "created") != 0)
            return refuse(claim, other);
        *contested = true;
    }
    return SANDLOT_OK;
}

static enum sandlot_status win(const struct claim *claim, struct docker *docker)
{
    const int64_t end_ms = sandlot_now_ms() + CONTEST_MS;
    int pause_ms = FIRST_PAUSE_MS;

    for (;;) {
        AUTO_DOCUMENT struct json_object *items = NULL;
        const bool last = sandlot_now_ms() >= end_ms;
        bool contested = false;
        enum sandlot_status status = volumes_containers(claim->call, docker, claim->engine_name, &items);

        if (status == SANDLOT_OK)
            status = judge_others(claim, items, last, &contested);
        if (status == SANDLOT_OK && contested)
            status = pause_longer(claim->call, "the container engine", &pause_ms, LONGEST_PAUSE_MS);
        if (status != SANDLOT_OK || !contested)
            return status;
    }
}

enum sandlot_status volumes_claim(struct sandlot_call *call, struct docker *docker,
                                  const struct sandlot_create *request, const char *owner, const char *id)
{
    enum sandlot_status status = SANDLOT_OK;

    for (size_t i = 0; i < count_of(request) && status == SANDLOT_OK; i++) {
        struct claim claim = {.call = call, .volume = &request->volumes[i], .id = id};

        volumes_engine_name(claim.volume->name, owner, claim.engine_name);
        if (!(claim.volume->flags & SANDLOT_VOLUME_READ_ONLY))
            status = win(&claim, docker);
    }
    return status;
}

/* ---- for users that are not root --------------------------------------------------------------------------------- */

enum sandlot_status volumes_unlock(struct sandlot_call *call, struct docker *docker,
                                   const struct sandlot_create *request, const char *id)
{
    enum sandlot_status status = SANDLOT_OK;

    for (size_t i = 0; i < count_of(request) && status == SANDLOT_OK; i++)
        if (!(request->volumes[i].flags & SANDLOT_VOLUME_READ_ONLY))
            status = container_unlock(call, docker, id, request->volumes[i].path);
    return status;
}

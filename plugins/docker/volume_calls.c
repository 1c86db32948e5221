#include "volume_calls.h"

#include "volumes.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>

#include <string.h>

enum { SIZES_MS = 20 * 1000 };

/* ---- listing ----------------------------------------------------------------------------------------------------- */

/* What the engine says, and OWNER. */
struct known {
    const char *owner;
    struct json_object *volumes;
    struct json_object *containers;
    struct json_object *sizes; /* NULL: unknown */
};

static void known_clear(struct known *known)
{
    json_object_put(known->volumes);
    json_object_put(known->containers);
    json_object_put(known->sizes);
}

/* *ANSWER: that to GET TARGET, which is taken over, of SANDLOT_OK. */
static enum sandlot_status get(struct sandlot_call *call, struct docker *docker, char *target,
                               struct json_object **answer)
{
    const struct engine_order order = {.method = "GET", .target = target, .slow = true};

    return engine_order(call, docker, &order, NULL, answer, NULL);
}

/* Older engines measure all that they have for it. */
static void ask_sizes(struct sandlot_call *call, struct docker *docker, struct known *known)
{
    struct attempt attempt;

    attempt_begin(&attempt, call, SIZES_MS);
    if (get(&attempt.call, docker, http_target("/system/df?type=volume"), &known->sizes) != SANDLOT_OK)
        call->host->log(call, SANDLOT_LOG_INFO, "the container engine tells no sizes of volumes, or not soon enough");
}

static enum sandlot_status ask(struct sandlot_call *call, struct docker *docker, struct known *known)
{
    static const char ours[] = "{\"label\":[\"" LABEL_RUN "\"]}";
    char owned[VOLUME_OWNER + 64];

    snprintf(owned, sizeof(owned), "{\"label\":[\"" LABEL_OWNER "=%s\"]}", known->owner);
    enum sandlot_status status = get(call, docker, http_target("/volumes?filters={}", owned), &known->volumes);

    if (status == SANDLOT_OK)
        status = get(call, docker, http_target("/containers/json?all=1&filters={}", ours), &known->containers);
    if (status == SANDLOT_OK)
        ask_sizes(call, docker, known);
    return status;
}

static uint64_t size_of(const struct known *known, const char *engine_name)
{
    struct json_object *volumes = NULL;

    json_find_array(known->sizes, "Volumes", &volumes, NULL);
    for (size_t i = 0; volumes && i < json_object_array_length(volumes); i++) {
        struct json_object *volume = json_object_array_get_idx(volumes, i);
        const char *name = "";
        int64_t bytes = -1;

        json_find_string(volume, "Name", &name, NULL);
        json_find_integer(volume, "UsageData.Size", &bytes, NULL);
        if (strcmp(name, engine_name) == 0)
            return bytes >= 0 ? (uint64_t)bytes : UINT64_MAX;
    }
    return UINT64_MAX;
}

/* An engine keeps in mind only who has it now. */
static void count(const struct known *known, const char *engine_name, struct sandlot_listed_volume *listed)
{
    for (size_t i = 0; i < json_object_array_length(known->containers); i++) {
        struct json_object *container = json_object_array_get_idx(known->containers, i);
        const enum volume_use use = volumes_use(container, engine_name);
        int64_t created_s = 0;

        if (use == VOLUME_UNUSED)
            continue;
        listed->writers += use == VOLUME_WRITTEN;
        listed->readers += use == VOLUME_READ;
        json_find_integer(container, "Created", &created_s, NULL);
        if (created_s > 0 && created_s * 1000 > listed->used_at_ms)
            listed->used_at_ms = created_s * 1000;
    }
}

static enum sandlot_status add(const struct known *known, const struct sandlot_volume_listing *listing,
                               struct json_object *volume)
{
    struct sandlot_listed_volume listed = {.size = sizeof(listed), .name = ""};
    char engine_name[VOLUME_ENGINE_NAME];
    const char *said = "";

    json_find_string(volume, "Name", &said, NULL);
    json_find_string(volume, "Labels.\"" LABEL_VOLUME "\"", &listed.name, NULL);
    volumes_engine_name(listed.name, known->owner, engine_name);
    if (strcmp(said, engine_name) != 0)
        return SANDLOT_OK; /* somebody else's labels */
    listed.bytes = size_of(known, engine_name);
    count(known, engine_name, &listed);
    return listing->add(listing, &listed);
}

static enum sandlot_status list(struct sandlot_call *call, struct known *known,
                                const struct sandlot_volume_listing *listing)
{
    struct json_object *volumes = NULL;
    struct json_error error;
    enum sandlot_status status = SANDLOT_OK;

    if (!json_find_array(known->volumes, "Volumes", &volumes, &error) ||
        !json_read_array(known->containers, "", &(struct json_object *){NULL}, &error))
        return json_fail(call, "the container engine's list of volumes", &error);
    for (size_t i = 0; volumes && i < json_object_array_length(volumes) && status == SANDLOT_OK; i++)
        status = add(known, listing, json_object_array_get_idx(volumes, i));
    return status;
}

enum sandlot_status volume_calls_list(struct sandlot_call *call, void *provider, const char *cursor,
                                      const struct sandlot_volume_listing *listing)
{
    struct known known CLEANUP(known_clear) = {0};
    char owner[VOLUME_OWNER];

    if (cursor)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "the list of volumes has one page; begin without cursor");
    enum sandlot_status status = volumes_owner(call, provider, owner);

    known.owner = owner;
    if (status == SANDLOT_OK)
        status = ask(call, provider, &known);
    return status == SANDLOT_OK ? list(call, &known, listing) : status;
}

/* ---- deleting ---------------------------------------------------------------------------------------------------- */

static enum sandlot_status in_use(struct sandlot_call *call, struct docker *docker, const char *name,
                                  const char *engine_name, const char *said)
{
    AUTO_DOCUMENT struct json_object *items = NULL;
    const char *id = NULL;
    enum sandlot_status status = volumes_containers(call, docker, engine_name, &items);

    if (status != SANDLOT_OK)
        return status;
    json_find_string(json_object_array_get_idx(items, 0), "Id", &id, NULL);
    if (!id)
        return sandlot_fail(call, SANDLOT_EXHAUSTED, "the volume %s is in use: %.300s; try again", name, said);
    return sandlot_fail(call, SANDLOT_EXHAUSTED, "the sandbox %.12s has the volume %s; delete that one first", id,
                        name);
}

static enum sandlot_status remove_volume(struct sandlot_call *call, struct docker *docker, const char *name,
                                         const char *engine_name)
{
    static const int answers[] = {404, 409, 0};
    const struct engine_order order = {
        .method = "DELETE", .target = http_target("/volumes/{}", engine_name), .accepted = answers, .slow = true};
    char said[ENGINE_SAID] = "";
    int code = 0;
    enum sandlot_status status = engine_order(call, docker, &order, &code, NULL, said);

    return status == SANDLOT_OK && code == 409 ? in_use(call, docker, name, engine_name, said) : status;
}

enum sandlot_status volume_calls_delete(struct sandlot_call *call, void *provider, const char *name)
{
    static const int not_there[] = {404, 0};
    AUTO_DOCUMENT struct json_object *volume = NULL;
    char owner[VOLUME_OWNER];
    char engine_name[VOLUME_ENGINE_NAME];
    int code = 0;
    enum sandlot_status status = volumes_owner(call, provider, owner);

    if (status != SANDLOT_OK)
        return status;
    volumes_engine_name(name, owner, engine_name);
    const struct engine_order order = {
        .method = "GET", .target = http_target("/volumes/{}", engine_name), .accepted = not_there};

    status = engine_order(call, provider, &order, &code, &volume, NULL);
    if (status != SANDLOT_OK || code == 404)
        return status;
    if (!volumes_is_ours(volume, name, owner))
        return volumes_refuse_strange(call, engine_name, owner);
    return remove_volume(call, provider, name, engine_name);
}

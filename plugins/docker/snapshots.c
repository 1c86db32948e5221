#include "snapshots.h"

#include "container.h"
#include "image.h"

#include <sandlot/sdk/cleanup.h>

#include <string.h>

/* "localhost" is a registry's name that nobody else can have: a snapshot that is missing is not pulled from a stranger.
 */
#define REPOSITORY "localhost/sandlot-snapshot"

enum { LONGEST_TAG = 128 };

static bool is_tag(const char *name)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    size_t length = strspn(name, plain);

    return length > 0 && length <= LONGEST_TAG && name[length] == '\0' && *name != '.' && *name != '-';
}

static enum sandlot_status image_of(struct sandlot_call *call, const char *name, char **image)
{
    if (!is_tag(name))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "\"%.100s\" is no name for a snapshot; use at most 128 letters, digits, \"_\", \".\" and "
                            "\"-\"",
                            name);
    if (asprintf(image, REPOSITORY ":%s", name) < 0) {
        *image = NULL;
        return engine_no_memory(call);
    }
    return SANDLOT_OK;
}

enum sandlot_status snapshots_image(struct sandlot_call *call, struct docker *docker, const char *name, char **image)
{
    bool there = false;
    enum sandlot_status status = SANDLOT_OK;

    if (is_tag(name)) {
        status = image_of(call, name, image);
        if (status == SANDLOT_OK)
            status = image_look(call, docker, *image, &there);
        if (status != SANDLOT_OK || there)
            return status;
        free(*image);
        *image = NULL;
    }
    status = image_look(call, docker, name, &there);
    if (status == SANDLOT_OK && !there)
        return sandlot_fail(call, SANDLOT_NOT_FOUND,
                            "there is no snapshot %.100s, nor an image of that name, at the container "
                            "engine; look at its images",
                            name);
    if (status != SANDLOT_OK)
        return status;
    *image = strdup(name);
    return *image ? SANDLOT_OK : engine_no_memory(call);
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

static enum sandlot_status commit(struct sandlot_call *call, struct docker *docker, const char *id, const char *name,
                                  const struct sandlot_sink *result)
{
    static const char repository[] = REPOSITORY;
    const struct engine_order order = {
        .method = "POST",
        /* A container that somebody else starts from it is no sandbox: an image's labels can only be emptied. */
        .target = http_target("/commit?container={}&repo={}&tag={}&pause=1&changes={}", id, repository, name,
                              "LABEL " LABEL_RUN "="),
        .body = strdup("{}"),
        .slow = true,
        .once = true};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct json_error error;
    const char *image;
    enum sandlot_status status = engine_order(call, docker, &order, NULL, &answer, NULL);

    if (status != SANDLOT_OK)
        return status;
    if (!json_read_string(answer, "Id", &image, &error))
        return json_fail(call, "the container engine's answer to a snapshot", &error);
    return result->write(result, name, strlen(name));
}

enum sandlot_status snapshots_make(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                   const struct sandlot_sink *result)
{
    AUTO_FREE char *image = NULL;
    bool there = false;
    enum sandlot_status status = image_of(call, name, &image);

    if (status == SANDLOT_OK)
        status = image_look(call, provider, image, &there);
    if (status == SANDLOT_OK && there)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "there is a snapshot %.100s already; choose another name, or delete that one", name);
    return status == SANDLOT_OK ? commit(call, provider, id, name, result) : status;
}

/* ---- listing and deleting ---------------------------------------------------------------------------------------- */

static enum sandlot_status add_tags(const struct sandlot_listing *listing, struct json_object *item)
{
    struct json_object *tags = NULL;
    int64_t created_s = 0;
    enum sandlot_status status = SANDLOT_OK;

    json_find_array(item, "RepoTags", &tags, NULL);
    json_find_integer(item, "Created", &created_s, NULL);
    for (size_t i = 0; tags && i < json_object_array_length(tags) && status == SANDLOT_OK; i++) {
        const char *tag = json_object_get_string(json_object_array_get_idx(tags, i));
        const struct sandlot_listed listed = {.size = sizeof(listed),
                                              .id = tag ? tag + sizeof(REPOSITORY) : "",
                                              .state = "complete",
                                              .created_at_ms = created_s > 0 ? created_s * 1000 : 0};

        if (tag && strncmp(tag, REPOSITORY ":", sizeof(REPOSITORY)) == 0)
            status = listing->add(listing, &listed);
    }
    return status;
}

enum sandlot_status snapshots_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing)
{
    static const char filters[] = "{\"reference\":[\"" REPOSITORY "\"]}";
    const struct engine_order order = {.method = "GET", .target = http_target("/images/json?filters={}", filters)};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct json_object *items = NULL;
    struct json_error error;

    if (cursor) {
        free(order.target);
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "the list of snapshots has one page; begin without cursor");
    }
    enum sandlot_status status = engine_order(call, provider, &order, NULL, &answer, NULL);

    if (status == SANDLOT_OK && !json_read_array(answer, "", &items, &error))
        return json_fail(call, "the container engine's list of images", &error);
    for (size_t i = 0; status == SANDLOT_OK && i < json_object_array_length(items); i++)
        status = add_tags(listing, json_object_array_get_idx(items, i));
    return status;
}

enum sandlot_status snapshots_delete(struct sandlot_call *call, void *provider, const char *name)
{
    static const int answers[] = {404, 409, 0};
    AUTO_FREE char *image = NULL;
    char said[ENGINE_SAID] = "";
    int code = 0;
    enum sandlot_status status = image_of(call, name, &image);

    if (status != SANDLOT_OK)
        return status;
    const struct engine_order order = {
        .method = "DELETE", .target = http_target("/images/{}?force=1", image), .accepted = answers, .slow = true};

    status = engine_order(call, provider, &order, &code, NULL, said);
    if (status == SANDLOT_OK && code == 409)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE,
                            "the snapshot %.100s is in use: %.300s; delete the sandboxes that were made of it first",
                            name, said);
    return status;
}

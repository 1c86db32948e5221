#include "lifecycle.h"

#include "container.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/pause.h>
#include <sandlot/sdk/rest.h>

#include <string.h>

enum { FIRST_PAUSE_MS = 50, LONGEST_PAUSE_MS = 1000, DELETE_MS = 60 * 1000 };

/* ---- deleting ---------------------------------------------------------------------------------------------------- */

/* It was refused. *GONE: it is not there any more. One that is frozen some engines cannot kill. */
static enum sandlot_status look(struct sandlot_call *call, struct docker *docker, const char *id, bool *gone)
{
    AUTO_CONTAINER struct container container = {0};
    char said[ENGINE_SAID];
    bool done;
    enum sandlot_status status = container_find(call, docker, id, &container);

    *gone = status == SANDLOT_OK && !container.document;
    if (status == SANDLOT_OK && container.paused)
        status = container_order(call, docker, id, "unpause", &done, said);
    return status;
}

static enum sandlot_status remove_once(struct sandlot_call *call, struct docker *docker, const char *id, bool *gone,
                                       char said[ENGINE_SAID])
{
    const struct engine_order order = {.method = "DELETE",
                                       .target = http_target("/containers/{}?force=1&v=1", id),
                                       .accepted = engine_refusals,
                                       .slow = true};
    int code = 0;
    enum sandlot_status status = engine_order(call, docker, &order, &code, NULL, said);

    *gone = status == SANDLOT_OK && (code < 300 || code == 404);
    return status == SANDLOT_OK && !*gone ? look(call, docker, id, gone) : status;
}

enum sandlot_status lifecycle_delete(struct sandlot_call *call, void *provider, const char *id)
{
    int64_t end_ms = sandlot_now_ms() + DELETE_MS;
    int pause_ms = FIRST_PAUSE_MS;
    char said[ENGINE_SAID] = "";
    bool gone = false;

    for (;;) {
        enum sandlot_status status = remove_once(call, provider, id, &gone, said);

        if (status != SANDLOT_OK || gone)
            return status;
        if (sandlot_now_ms() >= end_ms)
            return sandlot_fail(call, SANDLOT_UNAVAILABLE,
                                "the container engine does not remove container %.100s: %.300s; look at its log", id,
                                *said ? said : "it does not say why");
        status = pause_longer(call, "the container engine", &pause_ms, LONGEST_PAUSE_MS);
        if (status != SANDLOT_OK)
            return status;
    }
}

/* ---- listing ----------------------------------------------------------------------------------------------------- */

static enum sandlot_status add_item(struct sandlot_call *call, const struct sandlot_listing *listing,
                                    struct json_object *item)
{
    struct sandlot_listed listed = {.size = sizeof(listed), .state = "unknown"};
    struct json_error error;
    char short_id[CONTAINER_ID + 1];
    int64_t created_s = 0;

    if (!json_read_string(item, "Id", &listed.id, &error) || !json_find_string(item, "State", &listed.state, &error) ||
        !json_find_integer(item, "Created", &created_s, &error) ||
        !json_find_string(item, "Labels.\"" LABEL_RUN "\"", &listed.run_label, &error))
        return json_fail(call, "the container engine's list", &error);
    snprintf(short_id, sizeof(short_id), "%s", listed.id);
    listed.id = short_id;
    listed.created_at_ms = created_s > 0 ? created_s * 1000 : 0;
    bool ours = listed.run_label && *listed.run_label; /* it is empty in what is made of a snapshot by hand */

    return !ours || strcmp(listed.state, "removing") == 0 ? SANDLOT_OK : listing->add(listing, &listed);
}

/* Those with the label of a creation: what else the engine has is none of ours, nor a sandbox. All in one page. */
enum sandlot_status lifecycle_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing)
{
    static const char filters[] = "{\"label\":[\"" LABEL_RUN "\"]}";
    const struct engine_order order = {.method = "GET",
                                       .target = http_target("/containers/json?all=1&filters={}", filters)};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct json_object *items = NULL;
    struct json_error error;

    if (cursor) {
        free(order.target);
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "the list of containers has one page; begin without cursor");
    }
    enum sandlot_status status = engine_order(call, provider, &order, NULL, &answer, NULL);

    if (status == SANDLOT_OK && !json_read_array(answer, "", &items, &error))
        return json_fail(call, "the container engine's list", &error);
    return status == SANDLOT_OK ? rest_list(call, listing, items, NULL, add_item) : status;
}

/* ---- pausing ----------------------------------------------------------------------------------------------------- */

static enum sandlot_status change(struct sandlot_call *call, struct docker *docker, const char *id, const char *action,
                                  bool paused)
{
    AUTO_CONTAINER struct container container = {0};
    char said[ENGINE_SAID] = "";
    bool done;
    enum sandlot_status status = container_order(call, docker, id, action, &done, said);

    if (status != SANDLOT_OK || done)
        return status;
    status = container_get(call, docker, id, &container);
    if (status != SANDLOT_OK || (container.running && container.paused == paused))
        return status;
    return sandlot_fail(call, engine_says(said, "cgroup") ? SANDLOT_UNSUPPORTED : SANDLOT_UNAVAILABLE,
                        "the container engine does not %s container %.100s (%.20s): %.300s; try again, or delete it",
                        action, id, container.state, *said ? said : "it does not say why");
}

enum sandlot_status lifecycle_pause(struct sandlot_call *call, void *provider, const char *id)
{
    return change(call, provider, id, "pause", true);
}

enum sandlot_status lifecycle_resume(struct sandlot_call *call, void *provider, const char *id)
{
    return change(call, provider, id, "unpause", false);
}

/* ---- is there an engine? ----------------------------------------------------------------------------------------- */

enum sandlot_status lifecycle_check(struct sandlot_call *call, void *provider)
{
    struct docker *docker = provider;
    struct address address;
    enum sandlot_status status = address_find(call, &docker->parameters, &address);

    address_clear(&address);
    return status;
}

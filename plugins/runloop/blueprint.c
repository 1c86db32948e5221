#include "blueprint.h"

#include "record.h"
#include "snapshots.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/text_format.h>
#include <string.h>

enum { BUILD_PAUSE_MS = 1000 };

static const char blueprint_prefix[] = "bpt_";

void origin_clear(struct origin *origin)
{
    free(origin->blueprint_id);
    free(origin->blueprint_name);
    free(origin->snapshot_id);
    *origin = (struct origin){0};
}

static enum sandlot_status keep(struct sandlot_call *call, char **place, const char *text)
{
    *place = strdup(text);
    return *place ? SANDLOT_OK : http_no_memory(call);
}

/* ---- states ------------------------------------------------------------------------------------------------------ */

/* Runloop's states of a build, as far as they differ in what is to be done; the better, the higher. */
enum build { BUILD_NONE, BUILD_FAILED, BUILD_MOVING, BUILD_COMPLETE };

static enum build build_of(struct json_object *blueprint)
{
    const char *status = "";
    const char *state = "created";

    json_find_string(blueprint, "status", &status, NULL);
    json_find_string(blueprint, "state", &state, NULL);
    if (strcmp(state, "deleted") == 0)
        return BUILD_NONE;
    if (strcmp(status, "build_complete") == 0)
        return BUILD_COMPLETE;
    return strcmp(status, "failed") == 0 ? BUILD_FAILED : BUILD_MOVING; /* words that are new too */
}

/* ---- finding ----------------------------------------------------------------------------------------------------- */

/* The best build of blueprints called NAME, and the id of one in that state. The service's filter may find more. */
static enum sandlot_status find(struct sandlot_call *call, struct runloop *runloop, const char *name, enum build *best,
                                char **id)
{
    AUTO_FREE char *cursor = NULL;

    *best = BUILD_NONE;
    for (;;) {
        AUTO_PAGE struct page page = {0};
        enum sandlot_status status =
            page_get(call, runloop, http_target("/v1/blueprints?limit=100&name={}", name), "blueprints", cursor, &page);

        for (size_t i = 0; status == SANDLOT_OK && i < json_object_array_length(page.items); i++) {
            struct json_object *item = json_object_array_get_idx(page.items, i);
            const char *called = "";
            const char *known = "";

            json_find_string(item, "name", &called, NULL);
            json_find_string(item, "id", &known, NULL);
            if (strcmp(called, name) != 0 || build_of(item) <= *best)
                continue;
            *best = build_of(item);
            free(*id);
            status = keep(call, id, known);
        }
        if (status != SANDLOT_OK || !page.next || *best == BUILD_COMPLETE)
            return status;
        free(cursor);
        status = keep(call, &cursor, page.next);
        if (status != SANDLOT_OK)
            return status;
    }
}

/* ---- building ---------------------------------------------------------------------------------------------------- */

/* One look at blueprint ID. SANDLOT_UNAVAILABLE with *DOCUMENT: not yet, and the call has not failed. */
static enum sandlot_status look(struct sandlot_call *call, struct runloop *runloop, const char *name, const char *id,
                                struct json_object **document)
{
    const struct api_order order = {.method = "GET", .target = http_target("/v1/blueprints/{}", id)};
    const char *reason = "it does not say why";
    enum sandlot_status status = api_send_order(call, runloop, &order, NULL, document);

    if (status != SANDLOT_OK)
        return status;
    json_find_string(*document, "failure_reason", &reason, NULL);
    switch (build_of(*document)) {
    case BUILD_COMPLETE:
        return SANDLOT_OK;
    case BUILD_MOVING:
        return SANDLOT_UNAVAILABLE;
    default:
        return sandlot_fail(call, SANDLOT_INTERNAL,
                            "Runloop could not build the blueprint %.100s (%.200s); look at its log, or name another "
                            "image",
                            name, reason);
    }
}

static enum sandlot_status wait_for(struct sandlot_call *call, struct runloop *runloop, const char *name,
                                    const char *id)
{
    struct pause pause = {.service = "Runloop", .first_ms = BUILD_PAUSE_MS, .longest_ms = BUILD_PAUSE_MS};
    char what[256];

    snprintf(what, sizeof(what), "building the blueprint %.200s", name);
    for (;;) {
        AUTO_DOCUMENT struct json_object *document = NULL;
        enum sandlot_status status = look(call, runloop, name, id, &document);

        if (status != SANDLOT_UNAVAILABLE || !document)
            return status;
        call->host->progress(call, what, 0, 0);
        if (!pause_again(call, &pause, &status))
            return status;
    }
}

static char *make_body(const char *name, const char *image)
{
    struct json_builder body = {0};
    AUTO_FREE char *dockerfile = NULL;

    body.failed = asprintf(&dockerfile, "FROM %s\n", image) < 0;
    json_set_string(&body, "name", name);
    json_set_string(&body, "dockerfile", dockerfile);
    json_set_string(&body, "metadata.sandlot", "1");
    return json_finish(&body, NULL);
}

/* Sent once: a second one would build a second time. After a lost answer it is looked up who builds. */
static enum sandlot_status build(struct sandlot_call *call, struct runloop *runloop, const char *name)
{
    const char *image = runloop->parameters.image;
    AUTO_FREE char *body = make_body(name, image);
    AUTO_FREE char *id = NULL;
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *document = NULL;
    const struct http_request request = {.method = "POST",
                                         .target = "/v1/blueprints",
                                         .body = {.bytes = body, .length = body ? strlen(body) : 0},
                                         .never_repeat = true};
    struct json_error error;
    enum build best;
    const char *text;

    if (*image && !text_is_word(image))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "image has a blank or a control character; name an image such as python:3");
    if (!body)
        return http_no_memory(call);
    call->host->log(call, SANDLOT_LOG_INFO, "there is no such blueprint at Runloop: it is built");
    enum sandlot_status status = api_send(call, runloop, &request, NULL, &response, &document);

    if (status == SANDLOT_OK) {
        if (!json_read_string(document, "id", &text, &error))
            return json_fail(call, "Runloop's answer to building a blueprint", &error);
        status = keep(call, &id, text);
    } else if (status == SANDLOT_UNAVAILABLE && find(call, runloop, name, &best, &id) == SANDLOT_OK && id) {
        status = SANDLOT_OK;
    }
    return status == SANDLOT_OK ? wait_for(call, runloop, name, id) : status;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static enum sandlot_status find_or_build(struct sandlot_call *call, struct runloop *runloop, const char *name,
                                         struct origin *origin)
{
    AUTO_FREE char *id = NULL;
    enum build best;
    enum sandlot_status status = find(call, runloop, name, &best, &id);

    if (status == SANDLOT_OK && best == BUILD_NONE)
        status = snapshots_find(call, runloop, name, &origin->snapshot_id);
    if (status != SANDLOT_OK || origin->snapshot_id)
        return status;
    if (best == BUILD_MOVING)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE,
                            "the blueprint %.100s is still being built at Runloop; try again in a minute", name);
    if (best == BUILD_FAILED)
        return sandlot_fail(
            call, SANDLOT_INTERNAL,
            "the blueprint %.100s exists at Runloop, but its build has failed; delete it there, or name "
            "another",
            name);
    if (best == BUILD_NONE)
        status = build(call, runloop, name);
    return status == SANDLOT_OK ? keep(call, &origin->blueprint_name, name) : status;
}

enum sandlot_status blueprint_find_origin(struct sandlot_call *call, struct runloop *runloop,
                                          const struct sandlot_create *request, struct origin *origin)
{
    const char *pinned = call->host->environment(call, "RUNLOOP_SANDBOX_BLUEPRINT_ID");
    const char *name = request->snapshot ? request->snapshot : runloop->parameters.snapshot;

    if (pinned)
        return keep(call, &origin->blueprint_id, pinned);
    if (!name || !*name)
        name = call->host->environment(call, "RUNLOOP_SANDBOX_BLUEPRINT_NAME");
    if (!name)
        return SANDLOT_OK;
    if (strncmp(name, blueprint_prefix, strlen(blueprint_prefix)) == 0)
        return keep(call, &origin->blueprint_id, name);
    if (snapshots_is_id(name))
        return keep(call, &origin->snapshot_id, name);
    return find_or_build(call, runloop, name, origin);
}

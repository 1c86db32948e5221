#include "snapshot.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/pause.h>
#include <sandlot/sdk/text_format.h>
#include <sandlot/sdk/timestamp.h>

#include <string.h>

enum { FIRST_PAUSE_MS = 500, LONGEST_PAUSE_MS = 2000 };

static const int64_t GIB = 1024 * 1024 * 1024;

/* What is sought, and the best that was found. */
struct search {
    const char *name; /* as the user writes it */
    char *plain;      /* without the tag */
    const char *tag;  /* NULL: none said */
    char *id;         /* of one that matches; a ready one if there is one */
    char state[32];
    char message[256];
};

static void search_end(struct search *search)
{
    free(search->plain);
    free(search->id);
}

#define AUTO_SEARCH CLEANUP(search_end)

static enum sandlot_status search_begin(struct sandlot_call *call, struct search *search, const char *name)
{
    const char *colon = strchr(name, ':');

    *search = (struct search){.name = name, .tag = colon ? colon + 1 : NULL};
    search->plain = strndup(name, strcspn(name, ":"));
    return search->plain
               ? SANDLOT_OK
               : sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for the name of a snapshot");
}

/* ---- finding ---------------------------------------------------------------------------------------------------- */

static bool has_tag(struct json_object *snapshot, const char *tag)
{
    struct json_object *tags = NULL;

    if (!json_find_array(snapshot, "tags", &tags, NULL) || !tags)
        return false;
    for (size_t i = 0; i < json_object_array_length(tags); i++) {
        const char *text = json_object_get_string(json_object_array_get_idx(tags, i));

        if (text && strcmp(text, tag) == 0)
            return true;
    }
    return false;
}

/* Is SNAPSHOT what is sought? The service's filter finds parts of names in any case. */
static bool matches(const struct search *search, struct json_object *snapshot)
{
    const char *name;

    return json_read_string(snapshot, "name", &name, NULL) && strcmp(name, search->plain) == 0 &&
           (!search->tag || has_tag(snapshot, search->tag));
}

/* Of several of one name the newest build is tagged `latest`; before tags there was none, and any ready one will do. */
static enum sandlot_status consider(struct sandlot_call *call, struct search *search, struct json_object *snapshot)
{
    const char *id;
    const char *state = "unknown";
    const char *message = "";
    struct json_error error;
    bool better = !search->id || (!search->tag && has_tag(snapshot, "latest"));

    if (!matches(search, snapshot))
        return SANDLOT_OK;
    if (!json_read_string(snapshot, "id", &id, &error))
        return json_fail(call, "LangSmith's list of snapshots", &error);
    json_find_string(snapshot, "status", &state, NULL);
    json_find_string(snapshot, "status_message", &message, NULL);
    if (!better && (strcmp(search->state, "ready") == 0 || strcmp(state, "ready") != 0))
        return SANDLOT_OK;
    free(search->id);
    search->id = strdup(id);
    snprintf(search->state, sizeof(search->state), "%s", state);
    snprintf(search->message, sizeof(search->message), "%s", message ? message : "");
    return search->id ? SANDLOT_OK
                      : sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for a list of snapshots");
}

static enum sandlot_status find(struct sandlot_call *call, struct api *api, struct search *search)
{
    AUTO_FREE char *cursor = NULL;
    enum sandlot_status status = SANDLOT_OK;

    do {
        struct api_page page;

        status = api_get_page(call, api, "snapshots", "snapshots", search->plain, cursor, &page);
        for (size_t i = 0; status == SANDLOT_OK && i < json_object_array_length(page.items); i++)
            status = consider(call, search, json_object_array_get_idx(page.items, i));
        free(cursor);
        cursor = page.next;
        page.next = NULL;
        api_page_clear(&page);
    } while (status == SANDLOT_OK && cursor);
    return status;
}

/* ---- waiting ---------------------------------------------------------------------------------------------------- */

/* One look at snapshot ID. */
static enum sandlot_status look(struct sandlot_call *call, struct api *api, const char *id, bool *ready)
{
    static const char what[] = "LangSmith's answer about a snapshot";
    AUTO_ANSWER struct api_answer answer = {0};
    const char *state;
    const char *message = NULL;
    struct json_error error;
    enum sandlot_status status = api_get(call, api, http_target("/snapshots/{}", id), NULL, what, &answer);

    if (status != SANDLOT_OK)
        return status;
    if (!json_read_string(answer.document, "status", &state, &error))
        return json_fail(call, what, &error);
    json_find_string(answer.document, "status_message", &message, NULL);
    *ready = strcmp(state, "ready") == 0;
    if (strcmp(state, "failed") == 0 || strcmp(state, "deleting") == 0)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "LangSmith could not make the snapshot (%s): %s", state,
                            message && *message ? message : "it does not say why");
    return SANDLOT_OK;
}

static enum sandlot_status wait_for(struct sandlot_call *call, struct api *api, const char *name, const char *id)
{
    char what[512];

    snprintf(what, sizeof(what), "making the snapshot %s", name);
    for (int pause_ms = FIRST_PAUSE_MS;; pause_ms = pause_ms * 2 < LONGEST_PAUSE_MS ? pause_ms * 2 : LONGEST_PAUSE_MS) {
        bool ready = false;

        call->host->progress(call, what, 0, 0);
        enum sandlot_status status = look(call, api, id, &ready);

        if (status != SANDLOT_OK || ready)
            return status;
        if (!pause_for(call, pause_ms))
            break;
    }
    if (sandlot_cancelled(call))
        return sandlot_fail(call, SANDLOT_CANCELLED, "cancelled while LangSmith was making the snapshot '%s'", name);
    return sandlot_fail(call, SANDLOT_TIMEOUT,
                        "LangSmith is still making the snapshot '%s'; try again in a minute, or raise start_timeout_s",
                        name);
}

/* ---- making ----------------------------------------------------------------------------------------------------- */

/* The id that ANSWER gives a snapshot that is being made. */
static enum sandlot_status read_id(struct sandlot_call *call, const struct api_answer *answer, struct search *search)
{
    static const char what[] = "LangSmith's answer to making a snapshot";
    const char *text;
    struct json_error error;
    enum sandlot_status status = api_want_document(call, answer, what);

    if (status != SANDLOT_OK)
        return status;
    if (!json_read_string(answer->document, "id", &text, &error))
        return json_fail(call, what, &error);
    search->id = strdup(text);
    return search->id ? SANDLOT_OK
                      : sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for a snapshot's id");
}

/* Of what the snapshot SEARCH is made: of the sandbox BOX, or, if that is NULL, of the image of the parameters. */
static void write_body(struct json_builder *body, const struct parameters *parameters, const struct search *search,
                       const char *box)
{
    json_set_string(body, "name", search->plain);
    json_set_string(body, "tag", search->tag);
    if (!box) {
        json_set_string(body, "docker_image", parameters->image);
        json_set_integer(body, "fs_capacity_bytes", parameters->snapshot_gib * GIB);
        json_set_string(body, "registry_id", parameters->registry_id);
    }
    json_set_string(body, "labels.sandlot", "1");
}

/*
 * Makes the snapshot, of which there is none of that name, and waits for it. It is asked for once: a second request
 * would make a second one. After a lost answer it is looked up whether it is being made. BOX as in write_body.
 */
static enum sandlot_status make(struct sandlot_call *call, struct api *api, struct search *search, const char *box)
{
    AUTO_ANSWER struct api_answer answer = {0};
    struct json_builder body = {0};
    const struct api_request request = {.method = "POST",
                                        .target = http_target(box ? "/boxes/{}/snapshot" : "/snapshots", box),
                                        .body = &body,
                                        .never_repeat = true,
                                        .expected = box ? api_missing : NULL};

    write_body(&body, &api->parameters, search, box);
    enum sandlot_status status = api_send(call, api, &request, &answer);

    if (status == SANDLOT_OK && answer.status == 404)
        return sandlot_fail(call, SANDLOT_NOT_FOUND, "LangSmith has no sandbox '%s' (any more)", box);
    if (status == SANDLOT_OK)
        status = read_id(call, &answer, search);
    else if (status == SANDLOT_UNAVAILABLE && answer.status == 0 && find(call, api, search) == SANDLOT_OK && search->id)
        status = SANDLOT_OK;
    return status == SANDLOT_OK ? wait_for(call, api, search->name, search->id) : status;
}

static enum sandlot_status build(struct sandlot_call *call, struct api *api, struct search *search)
{
    char what[512];

    snprintf(what, sizeof(what), "making the snapshot %s from the image %s", search->name, api->parameters.image);
    call->host->log(call, SANDLOT_LOG_INFO, what);
    return make(call, api, search, NULL);
}

enum sandlot_status snapshot_find_or_build(struct sandlot_call *call, struct api *api, const char *name, char **id)
{
    AUTO_SEARCH struct search search = {0};
    enum sandlot_status status = search_begin(call, &search, name);

    if (status != SANDLOT_OK)
        return status;
    if (*search.plain == '\0' || (search.tag && *search.tag == '\0'))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "'%s' is no name of a snapshot; write NAME or NAME:TAG",
                            name);
    status = find(call, api, &search);
    if (status == SANDLOT_OK && search.id && strcmp(search.state, "ready") != 0)
        status = sandlot_fail(call, SANDLOT_UNAVAILABLE,
                              "the snapshot '%s' exists but is not ready: it is %s%s%s; wait until it is, or delete it",
                              name, search.state, search.message[0] ? ": " : "", search.message);
    else if (status == SANDLOT_OK && !search.id)
        status = build(call, api, &search);
    if (status == SANDLOT_OK) {
        *id = search.id;
        search.id = NULL;
    }
    return status;
}

/* As it is listed: the latest of a name goes without tag. */
static enum sandlot_status write_name(const struct search *search, const struct sandlot_sink *result)
{
    bool is_latest = !search->tag || strcmp(search->tag, "latest") == 0;
    const char *text = is_latest ? search->plain : search->name;

    return result->write(result, text, strlen(text));
}

enum sandlot_status snapshot_capture(struct sandlot_call *call, void *api, const char *box, const char *name,
                                     const struct sandlot_sink *result)
{
    AUTO_SEARCH struct search search = {0};
    enum sandlot_status status = search_begin(call, &search, name);

    if (status == SANDLOT_OK)
        status = make(call, api, &search, box);
    return status == SANDLOT_OK ? write_name(&search, result) : status;
}

/* ---- listing ---------------------------------------------------------------------------------------------------- */

/* What SNAPSHOT is called: its name, with a tag if it is not the latest of that name. To be freed. */
static char *called(struct json_object *snapshot, const char *id)
{
    const char *name = NULL;
    const char *tag = NULL;

    json_find_string(snapshot, "name", &name, NULL);
    if (!name || !*name)
        return strdup(id);
    json_find_string(snapshot, "tags[0]", &tag, NULL);
    if (!tag || has_tag(snapshot, "latest"))
        return strdup(name);
    return text_format("%s:%s", name, tag);
}

static enum sandlot_status add(struct sandlot_call *call, const struct sandlot_listing *listing,
                               struct json_object *snapshot)
{
    const char *id;
    const char *created = NULL;
    struct sandlot_listed listed = {.size = sizeof(listed), .state = "unknown"};
    struct json_error error;

    if (!json_read_string(snapshot, "id", &id, &error))
        return json_fail(call, "LangSmith's list of snapshots", &error);
    AUTO_FREE char *name = called(snapshot, id);

    if (!name)
        return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for a list of snapshots");
    json_find_string(snapshot, "status", &listed.state, NULL);
    json_find_string(snapshot, "created_at", &created, NULL);
    listed.created_at_ms = timestamp_read(created);
    listed.id = name;
    return listing->add(listing, &listed);
}

enum sandlot_status snapshot_list(struct sandlot_call *call, void *api, const char *cursor,
                                  const struct sandlot_listing *listing)
{
    return api_list(call, api, "snapshots", "snapshots", cursor, listing, add);
}

/* ---- deleting --------------------------------------------------------------------------------------------------- */

/* GONE: whether there was such a snapshot. */
static enum sandlot_status delete_by(struct sandlot_call *call, struct api *api, const char *id, bool *gone)
{
    static const int expected[] = {400, 404, 409, 422, 0};
    AUTO_ANSWER struct api_answer answer = {0};
    struct api_request request = {.method = "DELETE", .target = http_target("/snapshots/{}", id), .expected = expected};
    enum sandlot_status status = api_send(call, api, &request, &answer);

    *gone = status == SANDLOT_OK && answer.status < 300;
    if (status != SANDLOT_OK || *gone || answer.status == 404)
        return status;
    /* An older server takes an id only, and calls a name malformed. */
    return answer.status == 422 ? SANDLOT_OK : api_refuse(call, &answer, "to delete the snapshot");
}

enum sandlot_status snapshot_delete(struct sandlot_call *call, void *api, const char *name)
{
    AUTO_SEARCH struct search search = {0};
    bool gone;
    enum sandlot_status status = delete_by(call, api, name, &gone);

    if (status != SANDLOT_OK || gone)
        return status;
    status = search_begin(call, &search, name);
    if (status == SANDLOT_OK)
        status = find(call, api, &search);
    if (status == SANDLOT_OK && search.id)
        status = delete_by(call, api, search.id, &gone);
    if (status == SANDLOT_OK && !gone)
        return sandlot_fail(call, SANDLOT_NOT_FOUND, "LangSmith has no snapshot '%s' (any more)", name);
    return status;
}

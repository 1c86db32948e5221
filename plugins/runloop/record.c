#include "record.h"

#include <sandlot/sdk/cleanup.h>
#include <string.h>

static const int not_there[] = {404, 0};

static enum phase phase_of(const char *status)
{
    if (strcmp(status, "running") == 0)
        return PHASE_RUNNING;
    if (strcmp(status, "suspended") == 0)
        return PHASE_SUSPENDED;
    return strcmp(status, "shutdown") == 0 || strcmp(status, "failure") == 0 ? PHASE_GONE : PHASE_MOVING;
}

enum sandlot_status record_read(struct sandlot_call *call, struct json_object *document, struct record *record)
{
    struct json_error error;

    *record = (struct record){.status = "unknown"};
    bool well = json_read_string(document, "id", &record->id, &error) &&
                json_find_string(document, "status", &record->status, &error) &&
                json_find_string(document, "shutdown_reason", &record->reason, &error) &&
                json_find_string(document, "failure_reason", &record->reason, &error) &&
                json_find_string(document, "metadata.\"" LABEL_RUN "\"", &record->run_label, &error) &&
                json_find_string(document, "launch_parameters.user_parameters.username", &record->user, &error) &&
                json_find_integer(document, "create_time_ms", &record->created_at_ms, &error);

    if (!well || !*record->id) {
        *record = (struct record){0};
        return well ? sandlot_fail(call, SANDLOT_INTERNAL,
                                   "Runloop's answer tells of a devbox without an id; report it to Runloop")
                    : json_fail(call, "Runloop's record of a devbox", &error);
    }
    record->phase = phase_of(record->status);
    record->document = json_object_get(document);
    return SANDLOT_OK;
}

static enum sandlot_status get(struct sandlot_call *call, struct runloop *runloop, const char *id, const int *accepted,
                               struct record *record)
{
    AUTO_DOCUMENT struct json_object *document = NULL;
    const struct api_order order = {
        .method = "GET", .target = http_target("/v1/devboxes/{}", id), .accepted = accepted};
    int code = 0;

    *record = (struct record){0};
    enum sandlot_status status = api_send_order(call, runloop, &order, &code, &document);

    if (status != SANDLOT_OK || code == 404)
        return status;
    if (!document)
        return sandlot_fail(call, SANDLOT_INTERNAL, "Runloop's answer about devbox %.100s is empty; try again", id);
    return record_read(call, document, record);
}

enum sandlot_status record_get(struct sandlot_call *call, struct runloop *runloop, const char *id,
                               struct record *record)
{
    return get(call, runloop, id, NULL, record);
}

enum sandlot_status record_find(struct sandlot_call *call, struct runloop *runloop, const char *id,
                                struct record *record)
{
    return get(call, runloop, id, not_there, record);
}

void record_clear(struct record *record)
{
    json_object_put(record->document);
    *record = (struct record){0};
}

/* ---- listings ---------------------------------------------------------------------------------------------------- */

enum sandlot_status page_get(struct sandlot_call *call, struct runloop *runloop, char *target, const char *name,
                             const char *cursor, struct page *page)
{
    struct json_error error;
    bool more = false;

    *page = (struct page){0};
    if (!target || !http_target_add(&target, "starting_after", cursor))
        return http_no_memory(call);
    const struct api_order order = {.method = "GET", .target = target};
    enum sandlot_status status = api_send_order(call, runloop, &order, NULL, &page->document);

    if (status != SANDLOT_OK)
        return status;
    if (!json_read_array(page->document, name, &page->items, &error) ||
        !json_find_boolean(page->document, "has_more", &more, &error))
        return json_fail(call, "Runloop's list", &error);
    size_t count = json_object_array_length(page->items);
    struct json_object *last = count > 0 ? json_object_array_get_idx(page->items, count - 1) : NULL;

    if (more && last && !json_read_string(last, "id", &page->next, &error))
        return json_fail(call, "Runloop's list", &error);
    return SANDLOT_OK;
}

enum sandlot_status page_keep_id(struct sandlot_call *call, const struct page *page, const char *name, char **id)
{
    struct json_object *item = json_find_element(page->items, "name", name);
    struct json_error error;
    const char *text;

    if (!item)
        return SANDLOT_OK;
    if (!json_read_string(item, "id", &text, &error))
        return json_fail(call, "Runloop's list", &error);
    *id = strdup(text);
    return *id ? SANDLOT_OK : http_no_memory(call);
}

void page_clear(struct page *page)
{
    json_object_put(page->document);
    *page = (struct page){0};
}

static enum sandlot_status search_page(struct sandlot_call *call, const struct page *page, const char *run_label,
                                       struct record *found)
{
    for (size_t i = 0; i < json_object_array_length(page->items); i++) {
        AUTO_RECORD struct record record = {0};
        enum sandlot_status status = record_read(call, json_object_array_get_idx(page->items, i), &record);

        if (status != SANDLOT_OK)
            return status;
        if (record.phase != PHASE_GONE && record.run_label && strcmp(record.run_label, run_label) == 0) {
            *found = record;
            record = (struct record){0};
            return SANDLOT_OK;
        }
    }
    return SANDLOT_OK;
}

enum sandlot_status record_find_run(struct sandlot_call *call, struct runloop *runloop, const char *run_label,
                                    struct record *record)
{
    AUTO_FREE char *cursor = NULL;

    *record = (struct record){0};
    for (;;) {
        AUTO_PAGE struct page page = {0};
        enum sandlot_status status =
            page_get(call, runloop, http_target(RECORD_LIST_TARGET), "devboxes", cursor, &page);

        if (status == SANDLOT_OK)
            status = search_page(call, &page, run_label, record);
        if (status != SANDLOT_OK || record->id || !page.next)
            return status;
        free(cursor);
        cursor = strdup(page.next);
        if (!cursor)
            return http_no_memory(call);
    }
}

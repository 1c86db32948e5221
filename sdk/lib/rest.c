#include <sandlot/sdk/rest.h>

#include "http_client.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/timestamp.h>

#include <string.h>

enum sandlot_status rest_drop(const struct rest_request *request, enum sandlot_status status)
{
    free(request->target);
    if (request->body)
        free(json_finish(request->body, NULL));
    return status;
}

static enum sandlot_status read_answer(struct sandlot_call *call, const struct http_client *client,
                                       const struct http_response *response, struct json_object **answer)
{
    struct json_error error;
    char what[96];

    *answer = json_read_document(response->body, response->length, &error);
    snprintf(what, sizeof(what), "%.80s's answer", client->service);
    return *answer ? SANDLOT_OK : json_fail(call, what, &error);
}

enum sandlot_status rest_send(struct sandlot_call *call, struct http_client *client, const struct rest_request *request,
                              struct http_response *response, struct json_object **answer)
{
    AUTO_FREE char *target = request->target;
    AUTO_FREE char *body = request->body ? json_finish(request->body, NULL) : NULL;
    const char *text = body ? body : request->text;
    AUTO_RESPONSE struct http_response unwanted = {0};
    const struct http_request sent = {.method = request->method,
                                      .target = target,
                                      .headers = request->headers,
                                      .body = {.bytes = text, .length = text ? strlen(text) : 0},
                                      .repeatable = request->repeatable,
                                      .never_repeat = request->never_repeat,
                                      .accepted = request->accepted,
                                      .limit = request->limit,
                                      .timeout_ms = request->timeout_ms,
                                      .silence_ms = request->silence_ms,
                                      .error_hint = request->error_hint};

    response = response ? response : &unwanted;
    if (answer)
        *answer = NULL;
    if (request->body && !body)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "a request to %s cannot be written: a name or parameter is not UTF-8 or no JSON, or memory "
                            "is short; check the parameters",
                            client->service);
    enum sandlot_status status = http_send(call, client, &sent, response);

    if (status != SANDLOT_OK || !answer || response->status < 200 || response->status > 299)
        return status;
    return response->length > 0 || request->answered ? read_answer(call, client, response, answer) : SANDLOT_OK;
}

/* ---- lists ------------------------------------------------------------------------------------------------------ */

static bool read_time(struct json_object *item, const char *path, int64_t *time_ms, struct json_error *error)
{
    const char *text = NULL;

    if (json_find_integer(item, path, time_ms, NULL))
        return true;
    if (!json_find_string(item, path, &text, error))
        return false;
    *time_ms = timestamp_read(text);
    return true;
}

static bool read_entry(struct json_object *item, const struct rest_entry *entry, struct sandlot_listed *listed,
                       struct json_error *error)
{
    *listed =
        (struct sandlot_listed){.size = sizeof(*listed), .state = entry->usual_state ? entry->usual_state : "unknown"};
    return json_read_string(item, entry->id, &listed->id, error) &&
           (!entry->state || json_find_string(item, entry->state, &listed->state, error)) &&
           (!entry->run_label || json_find_string(item, entry->run_label, &listed->run_label, error)) &&
           (!entry->created_at || read_time(item, entry->created_at, &listed->created_at_ms, error));
}

/* Tells LISTING of ITEM as HOW says. */
typedef enum sandlot_status (*add_one)(struct sandlot_call *call, const struct sandlot_listing *listing,
                                       struct json_object *item, const void *how);

static enum sandlot_status add_item(struct sandlot_call *call, const struct sandlot_listing *listing,
                                    struct json_object *item, const void *how)
{
    const rest_add *add = how;

    return (*add)(call, listing, item);
}

static enum sandlot_status add_entry(struct sandlot_call *call, const struct sandlot_listing *listing,
                                     struct json_object *item, const void *how)
{
    const struct rest_entry *entry = how;
    struct sandlot_listed listed;
    struct json_error error;

    if (!read_entry(item, entry, &listed, &error))
        return json_fail(call, entry->what, &error);
    bool told = !entry->left_out || strcmp(listed.state, entry->left_out) != 0;

    return told && (!entry->adapt || entry->adapt(item, &listed)) ? listing->add(listing, &listed) : SANDLOT_OK;
}

static enum sandlot_status list(struct sandlot_call *call, const struct sandlot_listing *listing,
                                struct json_object *items, const char *next, add_one add, const void *how)
{
    size_t count = items ? json_object_array_length(items) : 0;
    enum sandlot_status status = SANDLOT_OK;

    for (size_t i = 0; i < count && status == SANDLOT_OK; i++)
        status = add(call, listing, json_object_array_get_idx(items, i), how);
    if (status == SANDLOT_OK && next && *next)
        listing->next(listing, next);
    return status;
}

enum sandlot_status rest_list(struct sandlot_call *call, const struct sandlot_listing *listing,
                              struct json_object *items, const char *next, rest_add add)
{
    return list(call, listing, items, next, add_item, &add);
}

enum sandlot_status rest_list_entries(struct sandlot_call *call, const struct sandlot_listing *listing,
                                      struct json_object *answer, const char *next, const struct rest_entry *entry)
{
    struct json_object *items = answer;
    struct json_error error;
    bool well = (!entry->items || json_read_array(answer, entry->items, &items, &error)) &&
                (next || !entry->next || json_find_string(answer, entry->next, &next, &error));

    return well ? list(call, listing, items, next, add_entry, entry) : json_fail(call, entry->what, &error);
}

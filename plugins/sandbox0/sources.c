#include "sources.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/text_format.h>
#include <string.h>

#define SOURCES "/api/v1/credential-sources"
#define PREFIX "sandlot-"

enum { MOST_LOOKS = 20 };

char *sources_name(const char *id)
{
    return text_format(PREFIX "%s", id);
}

static enum sandlot_status remove_named(struct sandlot_call *call, struct sandbox0 *sandbox0, const char *name)
{
    static const int gone[] = {404, 0};
    const struct rest_request order = {
        .method = "DELETE", .target = http_target(SOURCES "/{}", name), .accepted = gone, .repeatable = true};

    return api_send(call, sandbox0, order, NULL, NULL);
}

enum sandlot_status sources_remove(struct sandlot_call *call, struct sandbox0 *sandbox0, const char *id)
{
    AUTO_FREE char *name = sources_name(id);

    return name ? remove_named(call, sandbox0, name) : http_no_memory(call);
}

/* ---- what is left of sandboxes that are gone --------------------------------------------------------------------- */

/* Anything but the service's word that there is no such sandbox leaves it. */
static void remove_if_gone(struct sandlot_call *call, struct sandbox0 *sandbox0, const char *name)
{
    AUTO_RECORD struct record record = {0};

    if (record_get(call, sandbox0, name + strlen(PREFIX), &record) == SANDLOT_NOT_FOUND)
        remove_named(call, sandbox0, name);
}

/* Sandboxes end by their lifetimes too, when nobody is there to remove anything. That this fails hinders nobody. */
static void sweep(struct sandlot_call *call, struct sandbox0 *sandbox0)
{
    const struct rest_request order = {.method = "GET", .target = http_target(SOURCES)};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct json_object *rows = NULL;
    struct attempt attempt;
    const char *name;

    attempt_begin(&attempt, call, 0);
    if (api_send(&attempt.call, sandbox0, order, NULL, &answer) != SANDLOT_OK || !answer)
        return;
    json_find_array(answer, "data", &rows, NULL);
    size_t count = rows ? json_object_array_length(rows) : 0;

    for (size_t i = 0, looks = 0; i < count && looks < MOST_LOOKS; i++)
        if (json_read_string(json_object_array_get_idx(rows, i), "name", &name, NULL) &&
            strncmp(name, PREFIX, strlen(PREFIX)) == 0) {
            remove_if_gone(&attempt.call, sandbox0, name);
            looks++;
        }
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

static struct json_object *values_of(const struct sandlot_network *network)
{
    struct json_object *values = json_object_new_object();
    char key[32];

    for (size_t i = 0; values && i < network->credential_count; i++) {
        snprintf(key, sizeof(key), "value%zu", i);
        json_object_object_add(values, key, json_object_new_string(network->credentials[i].value));
    }
    return values;
}

/* One that is there already is that of a request whose answer was lost: the id is new. */
enum sandlot_status sources_make(struct sandlot_call *call, struct sandbox0 *sandbox0, const char *id,
                                 const struct sandlot_network *network)
{
    static const int exists[] = {409, 0};
    AUTO_FREE char *name = sources_name(id);
    struct json_builder body = {.failed = !name};
    enum sandlot_status status = api_open(call, sandbox0);

    if (status != SANDLOT_OK)
        return status;
    network_hide(network, http_client_add_secret, sandbox0->client);
    sweep(call, sandbox0);
    json_set_string(&body, "name", name);
    json_set_string(&body, "resolverKind", "static_headers");
    json_set_value(&body, "spec.staticHeaders.values", values_of(network));
    const struct rest_request order = {
        .method = "POST", .target = http_target(SOURCES), .body = &body, .accepted = exists, .repeatable = true};

    return api_send(call, sandbox0, order, NULL, NULL);
}

#include "label.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/pause.h>
#include <string.h>

#define PREFIX "sandlot-" /* of every label */

enum {
    CLOCKS_MS = 5000, /* by how much two clocks of the service may differ */
    ROUNDS = 3,
    PORT = 65535
};

void label_set(struct json_builder *body, const char *label)
{
    if (!label)
        return;
    json_set_string(body, "config.services[0].id", label);
    json_set_integer(body, "config.services[0].port", PORT);
    json_set_boolean(body, "config.services[0].ingress.public", false);
}

const char *label_read(struct json_object *document)
{
    struct json_object *services = NULL;
    const char *id;

    json_find_array(document, "services", &services, NULL);
    for (size_t i = 0; services && i < json_object_array_length(services); i++)
        if (json_read_string(json_object_array_get_idx(services, i), "id", &id, NULL) &&
            strncmp(id, PREFIX, strlen(PREFIX)) == 0)
            return id;
    return NULL;
}

bool label_is_refused(const struct http_response *response)
{
    return http_mentions(response, "service") || http_mentions(response, "ingress") || http_mentions(response, "port");
}

/* What time it is there, in milliseconds since 1970. Where that is not told, nothing is new enough. */
static int64_t their_time_ms(const struct http_response *response)
{
    const char *date = http_header(response, "Date");
    struct tm parts = {0};

    return date && strptime(date, "%a, %d %b %Y %H:%M:%S", &parts) ? (int64_t)timegm(&parts) * 1000 : INT64_MAX / 2;
}

/* Whatever goes wrong with that, it is not. */
static bool is_ours(struct sandlot_call *call, struct sandbox0 *sandbox0, const char *id, const char *label)
{
    AUTO_RECORD struct record record = {0};
    struct attempt attempt;

    attempt_begin(&attempt, call, 0);
    return record_get(&attempt.call, sandbox0, id, &record) == SANDLOT_OK && record.label &&
           strcmp(record.label, label) == 0;
}

/* Looks at all that are new enough. */
static enum sandlot_status look(struct sandlot_call *call, struct sandbox0 *sandbox0, const char *label,
                                int64_t begun_ms, char **id)
{
    const struct rest_request order = {.method = "GET", .target = http_target(SANDBOXES "?limit=50")};
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct json_object *rows = NULL;
    struct record record;
    enum sandlot_status status = api_send(call, sandbox0, order, &response, &answer);

    if (status != SANDLOT_OK)
        return status;
    int64_t since_ms = their_time_ms(&response) - (sandlot_now_ms() - begun_ms) - CLOCKS_MS;

    json_find_array(answer, "data.sandboxes", &rows, NULL);
    for (size_t i = 0; rows && i < json_object_array_length(rows) && !*id; i++) {
        if (!record_read(json_object_array_get_idx(rows, i), &record, NULL) || record.created_at_ms < since_ms)
            continue;
        if (is_ours(call, sandbox0, record.id, label)) {
            call->host->created(call, record.id, NULL);
            *id = strdup(record.id);
        }
    }
    return SANDLOT_OK;
}

/* Also what is not in the list yet shows itself within a moment. */
enum sandlot_status label_find(struct sandlot_call *call, struct sandbox0 *sandbox0, const char *label,
                               int64_t begun_ms, char **id)
{
    struct pause pause = {.service = SERVICE, .looks = ROUNDS};
    enum sandlot_status status;

    do
        status = look(call, sandbox0, label, begun_ms, id);
    while (status == SANDLOT_OK && !*id && pause_again(call, &pause, &status));
    return status;
}

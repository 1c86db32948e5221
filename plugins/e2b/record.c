#include "record.h"

#include <sandlot/sdk/timestamp.h>

#include <string.h>

/* A number that we have written. */
static int64_t number_of(struct json_object *document, const char *path)
{
    const char *text = NULL;

    json_find_string(document, path, &text, NULL);
    return text ? strtoll(text, NULL, 10) : 0;
}

bool record_has_rules(struct json_object *network)
{
    struct json_object *rules = NULL;
    struct json_object *proxy = NULL;

    json_find_object(network, "rules", &rules, NULL);
    json_find_object(network, "egressProxy", &proxy, NULL);
    return proxy || (rules && json_object_object_length(rules) > 0);
}

static bool is_token(const char *token)
{
    return !token || (strlen(token) <= RECORD_LONGEST_TOKEN && !token[strcspn(token, " \t\r\n")]);
}

/* The token becomes a header and the domain a host: neither may hold anything that would make more of it. */
static bool is_sound(const struct record *record)
{
    static const char host[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:";

    return api_is_id(record->id) && is_token(record->token) && is_token(record->traffic_token) &&
           (!record->domain || record->domain[strspn(record->domain, host)] == '\0');
}

enum sandlot_status record_read(struct sandlot_call *call, struct json_object *document, struct record *record)
{
    struct json_error error;
    const char *state = NULL;
    const char *end = NULL;
    struct json_object *network = NULL;
    bool is_public = true;

    *record = (struct record){.document = document, .version = ""};
    if (!json_read_string(document, "sandboxID", &record->id, &error) ||
        !json_find_string(document, "envdAccessToken", &record->token, &error) ||
        !json_find_string(document, "trafficAccessToken", &record->traffic_token, &error) ||
        !json_find_object(document, "network", &network, &error) ||
        !json_find_boolean(document, "network.allowPublicTraffic", &is_public, &error) ||
        !json_find_string(document, "domain", &record->domain, &error) ||
        !json_find_string(document, "envdVersion", &record->version, &error) ||
        !json_find_string(document, "state", &state, &error) || !json_find_string(document, "endAt", &end, &error) ||
        !json_find_string(document, "metadata.\"" KEY_RUN "\"", &record->run_label, &error)) {
        record_clear(record);
        return json_fail(call, "E2B's answer about a sandbox", &error);
    }
    if (record->domain && !*record->domain)
        record->domain = NULL;
    record->is_private = !is_public;
    record->paused = state && strcmp(state, "paused") == 0;
    record->ends_at_ms = timestamp_read(end);
    record->rest_ms = number_of(document, "metadata.\"" KEY_REST "\"");
    record->until_ms = number_of(document, "metadata.\"" KEY_UNTIL "\"");
    record->has_credentials =
        number_of(document, "metadata.\"" KEY_CREDENTIALS "\"") > 0 || (network && record_has_rules(network));
    if (is_sound(record))
        return SANDLOT_OK;
    record_clear(record);
    return sandlot_fail(call, SANDLOT_INTERNAL,
                        "E2B's answer has an id, a token or a domain that is none; try again, or report it to E2B");
}

enum sandlot_status record_get(struct sandlot_call *call, struct e2b *e2b, const char *id, struct record *record)
{
    const struct api_request request = {.method = "GET", .pattern = "/sandboxes/{}", .id = id};
    AUTO_RESPONSE struct http_response response = {0};
    struct json_object *answer = NULL;
    enum sandlot_status status = api_send(call, e2b, &request, &response, &answer);

    *record = (struct record){0};
    return status == SANDLOT_OK ? record_read(call, answer, record) : status;
}

void record_clear(struct record *record)
{
    json_object_put(record->document);
    *record = (struct record){0};
}

/* ---- waking ------------------------------------------------------------------------------------------------------ */

/* One that is being paused or woken is asked again: see `repeated` in api.c. */
enum sandlot_status record_connect(struct sandlot_call *call, struct e2b *e2b, const char *id, int64_t seconds,
                                   struct record *record)
{
    static const int missing[] = {404, 405, 0};

    for (int old = 0;; old = 1) {
        AUTO_RESPONSE struct http_response response = {0};
        struct json_builder body = {0};
        struct json_object *answer = NULL;
        const struct api_request request = {.method = "POST",
                                            .pattern = old ? "/sandboxes/{}/connect" : "/v2/sandboxes/{}/connect",
                                            .id = id,
                                            .body = &body,
                                            .repeatable = true,
                                            .accepted = old ? NULL : missing};

        json_set_integer(&body, "timeout", seconds);
        enum sandlot_status status = api_send(call, e2b, &request, &response, record ? &answer : NULL);

        if (status == SANDLOT_OK && response.status < 300 && record)
            return record_read(call, answer, record);
        if (status != SANDLOT_OK || response.status < 300)
            return status;
        if (!api_is_unknown_request(&response))
            return http_response_fail(call, e2b->control, NULL, &response);
    }
}

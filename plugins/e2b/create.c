/*
 * POST /v2/sandboxes, or /sandboxes of older servers.
 *
 * There is no idempotency key, so the request is not repeated blindly: the run label is in the metadata, and after a
 * lost answer it is looked up whether the sandbox is there.
 *
 * A sandbox has an end, which use does not put off. So it is made to live as long as it may rest, and to live longer
 * while it is used (sandbox.c).
 */
#include "create.h"

#include "policy.h"

#include <sandlot/sdk/creation.h>

#include <inttypes.h>
#include <string.h>
#include <time.h>

enum { SECOND_MS = 1000, HOUR_S = 3600 };

/* An order under way. */
struct order {
    struct e2b *e2b;
    const struct sandlot_create *request;
    int64_t seconds;
    bool old;              /* the server does not know version 2 */
    struct record *record; /* what comes of it */
};

/* ---- the request ------------------------------------------------------------------------------------------------- */

int64_t create_seconds(const struct e2b *e2b, const struct sandlot_create *request)
{
    const int64_t limits_ms[] = {request->idle_ttl_ms, request->hard_ttl_ms};
    int64_t seconds = e2b->parameters.life_maximum_s;

    for (size_t i = 0; i < sizeof(limits_ms) / sizeof(*limits_ms); i++)
        if (limits_ms[i] > 0 && limits_ms[i] / SECOND_MS < seconds)
            seconds = limits_ms[i] / SECOND_MS;
    return seconds < 1 ? 1 : seconds;
}

static enum sandlot_status check(struct sandlot_call *call, const struct parameters *parameters)
{
    if (parameters->life_maximum_s < 60)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "life_maximum_s must be at least 60");
    if (parameters->auto_resume && !parameters->auto_pause)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "auto_resume needs auto_pause: what was deleted cannot be woken; set both, or neither");
    if (parameters->auto_resume && !parameters->keep_memory)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "auto_resume needs keep_memory: E2B wakes by a request only what has its memory; leave one "
                            "out");
    return SANDLOT_OK;
}

static void set_number(struct json_builder *body, const char *key, int64_t number)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, number);
    json_set_member(body, "metadata", key, text);
}

static enum sandlot_status set_metadata(struct sandlot_call *call, const struct order *order, struct json_builder *body)
{
    const struct sandlot_create *request = order->request;
    enum sandlot_status status =
        parameter_set_texts(call, body, "metadata", "metadata", order->e2b->parameters.metadata);

    parameter_set_labels(body, "metadata", request);
    json_set_member(body, "metadata", KEY_RUN, request->run_label);
    set_number(body, KEY_REST, order->seconds * SECOND_MS);
    if (network_asked(request) && network_asked(request)->credential_count > 0)
        set_number(body, KEY_CREDENTIALS, (int64_t)network_asked(request)->credential_count);
    if (request->hard_ttl_ms > 0)
        set_number(body, KEY_UNTIL, (int64_t)time(NULL) * SECOND_MS + request->hard_ttl_ms);
    return status;
}

static enum sandlot_status write_body(struct sandlot_call *call, const struct order *order, struct json_builder *body)
{
    const struct parameters *parameters = &order->e2b->parameters;
    const char *snapshot = order->request->snapshot;
    enum sandlot_status status = check(call, parameters);

    json_set_string(body, "templateID", parameter_is_said(snapshot) ? snapshot : parameters->template);
    json_set_integer(body, "timeout", order->seconds);
    if (order->old)
        json_set_boolean(body, "secure", true);
    if (parameters->auto_pause)
        json_set_boolean(body, "autoPause", true);
    if (parameters->auto_pause && !parameters->keep_memory)
        json_set_boolean(body, "autoPauseMemory", false);
    if (parameters->auto_resume)
        json_set_boolean(body, "autoResume.enabled", true);
    if (!parameters->internet)
        json_set_boolean(body, "allow_internet_access", false);
    parameter_set_json(body, "network", parameters->network);
    policy_set(body, network_asked(order->request));
    parameter_set_json(body, "volumeMounts", parameters->volume_mounts);
    if (status == SANDLOT_OK)
        status = set_metadata(call, order, body);
    if (status == SANDLOT_OK)
        status = parameter_set_variables(call, body, "envVars", "environment", parameters->environment);
    return status;
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

/* A sandbox may be there although we were not told so. */
static enum sandlot_status look_up(struct sandlot_call *call, void *context, bool *found)
{
    const struct order *order = context;
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    AUTO_FREE char *pair = NULL;
    const char *id = NULL;

    if (asprintf(&pair, KEY_RUN "=%s", order->request->run_label) < 0)
        return http_no_memory(call);
    const struct api_request request = {.method = "GET", .pattern = "/v2/sandboxes?metadata={}", .id = pair};
    enum sandlot_status status = api_send(call, order->e2b, &request, &response, &answer);

    if (status != SANDLOT_OK || !json_read_string(answer, "[0].sandboxID", &id, NULL))
        return status;
    call->host->created(call, id, NULL);
    status = record_get(call, order->e2b, id, order->record);
    *found = order->record->document;
    return status;
}

/* The longest life that a refusal allows, "Timeout cannot be greater than 1 hours"; 0: it is about something else. */
static int64_t allowed_seconds(const struct http_response *response)
{
    static const char words[] = "cannot be greater than ";
    char text[256];

    http_error_text(response->body ? response->body : "", response->length, text, sizeof(text));
    const char *place = strstr(text, words);

    return place && response->status == 400 ? strtoll(place + strlen(words), NULL, 10) * HOUR_S : 0;
}

/* Is it sure that nothing was made? FAILURE is what the order came to. */
static bool is_refusal(enum sandlot_status failure, const struct http_response *response)
{
    if (response->status == 0)
        return failure == SANDLOT_INVALID_ARGUMENT || failure == SANDLOT_AUTH;
    return (response->status >= 400 && response->status < 500 && response->status != 408) || response->status == 503;
}

/* What is to be done after a FAILURE. The order may be another one then. */
static enum creation_next after_failure(struct order *order, enum sandlot_status failure,
                                        const struct http_response *response)
{
    int64_t allowed_s = allowed_seconds(response);

    if (allowed_s > 0 && allowed_s < order->seconds) {
        order->seconds = allowed_s;
        return CREATION_CHANGED;
    }
    if (!order->old && response->body && api_is_unknown_request(response)) {
        order->old = true;
        return CREATION_CHANGED;
    }
    if (response->status == 503 || (response->status == 429 && response->retry_ms >= 0))
        return CREATION_REFUSED;
    return is_refusal(failure, response) ? CREATION_OVER : CREATION_UNCLEAR;
}

/* As `ask` of struct creation. */
static enum sandlot_status ask(struct sandlot_call *call, void *context, struct http_response *response,
                               enum creation_next *next)
{
    struct order *order = context;
    struct json_builder body = {0};
    struct json_object *answer = NULL;
    const struct api_request request = {
        .method = "POST", .pattern = order->old ? "/sandboxes" : "/v2/sandboxes", .body = &body};
    enum sandlot_status status = write_body(call, order, &body);

    if (status == SANDLOT_OK)
        status = api_send(call, order->e2b, &request, response, &answer);
    json_object_put(body.root); /* unless it was finished */
    if (status == SANDLOT_OK)
        status = record_read(call, answer, order->record);
    if (status == SANDLOT_OK)
        call->host->created(call, order->record->id, NULL);
    else
        *next = after_failure(order, status, response);
    return status;
}

enum sandlot_status create_sandbox(struct sandlot_call *call, struct e2b *e2b, const struct sandlot_create *request,
                                   struct record *record)
{
    struct order order = {.e2b = e2b, .request = request, .seconds = create_seconds(e2b, request), .record = record};
    const struct creation creation = {.service = E2B_SERVICE, .context = &order, .ask = ask, .look_up = look_up};
    enum sandlot_status status = policy_check(call, e2b, network_asked(request));

    if (status == SANDLOT_OK)
        status = api_hide(call, e2b, network_asked(request));
    return status == SANDLOT_OK ? creation_run(call, &creation) : status;
}

/*
 * POST /sandbox. Unknown fields are ignored there without a word, so the names below matter.
 *
 * There is no idempotency key, but a name is unique: the run label is the name. A request that is sent again because
 * its answer was lost is refused with 409 if the first one arrived, and then the name leads to the sandbox.
 */
#include "create.h"

#include "policy.h"
#include "snapshots.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/parameters.h>
#include <sandlot/sdk/text_format.h>

#include <string.h>

enum { MINUTE_MS = 60 * 1000 };

int64_t create_minutes(int64_t milliseconds)
{
    return milliseconds / MINUTE_MS + (milliseconds % MINUTE_MS != 0);
}

/* ---- the request ---------------------------------------------------------------------------------------------- */

static enum sandlot_status check_resources(struct sandlot_call *call, const struct parameters *wanted)
{
    const struct {
        const char *name;
        int64_t value;
    } resources[] = {
        {"cpu", wanted->cpu}, {"memory_gb", wanted->memory_gb}, {"disk_gb", wanted->disk_gb}, {"gpu", wanted->gpu}};

    for (size_t i = 0; i < sizeof(resources) / sizeof(*resources); i++) {
        if (resources[i].value == SANDLOT_ABSENT_INTEGER)
            continue;
        if (!parameter_is_said(wanted->image))
            return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                                "%s needs image: a snapshot fixes its resources; leave it out, or name an image",
                                resources[i].name);
        if (resources[i].value < 1)
            return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "%s must be at least 1", resources[i].name);
    }
    return SANDLOT_OK;
}

static enum sandlot_status check_wanted(struct sandlot_call *call, const struct parameters *wanted,
                                        const char *snapshot)
{
    if (parameter_is_said(wanted->image) && snapshot)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "image and snapshot exclude each other: a sandbox starts from one of them; leave one out");
    /* The image stands in a Dockerfile, where a blank or a newline would begin something else. */
    if (parameter_is_said(wanted->image) && !text_is_word(wanted->image))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "image has a blank or a control character; name an image such as python:3.12");
    return check_resources(call, wanted);
}

/* The secrets of Daytona are an array of objects with one member each. */
static enum sandlot_status set_secrets(struct sandlot_call *call, struct json_builder *body,
                                       const struct parameters *wanted)
{
    AUTO_DOCUMENT struct json_object *table = NULL;
    enum sandlot_status status = parameter_variables(call, "secrets", wanted->secrets, &table);

    if (status != SANDLOT_OK || !table)
        return status;
    json_object_object_foreach(table, name, value)
    {
        struct json_object *pair = json_object_new_object();

        if (pair)
            json_object_object_add(pair, name, json_object_get(value));
        json_set_value(body, "secrets[]", pair);
    }
    return SANDLOT_OK;
}

static void set_lifetimes(struct json_builder *body, const struct sandlot_create *request)
{
    /* Without a word it would be stopped after 15 minutes and never deleted. */
    json_set_integer(body, "autoStopInterval", create_minutes(request->idle_ttl_ms));
    if (request->idle_ttl_ms > 0)
        json_set_integer(body, "autoDeleteInterval", 0); /* as soon as it has stopped */
    if (request->hard_ttl_ms > 0)
        json_set_integer(body, "ttlMinutes", create_minutes(request->hard_ttl_ms));
}

static void set_origin(struct sandlot_call *call, struct json_builder *body, const struct parameters *wanted,
                       const char *snapshot)
{
    AUTO_FREE char *dockerfile = NULL;

    parameter_set_text(body, "target", parameter_or_variable(call, wanted->target, "DAYTONA_TARGET"));
    parameter_set_text(body, "snapshot", snapshot);
    if (parameter_is_said(wanted->image))
        body->failed |= asprintf(&dockerfile, "FROM %s\n", wanted->image) < 0;
    parameter_set_text(body, "buildInfo.dockerfileContent", dockerfile);
    if (parameter_is_said(wanted->image) || snapshot)
        json_set_member(body, "labels", LABEL_CUSTOM, "1");
}

static enum sandlot_status make_body(struct sandlot_call *call, const struct parameters *wanted,
                                     const struct sandlot_create *request, char **text)
{
    const char *snapshot = request->snapshot                     ? request->snapshot
                           : parameter_is_said(wanted->snapshot) ? wanted->snapshot
                                                                 : NULL;
    struct json_builder body = {0};
    enum sandlot_status status = check_wanted(call, wanted, snapshot);

    if (status != SANDLOT_OK)
        return status;
    json_set_string(&body, "name", request->run_label);
    parameter_set_labels(&body, "labels", request);
    set_origin(call, &body, wanted, snapshot);
    parameter_set_text(&body, "user", wanted->user);
    parameter_set_integer(&body, "cpu", wanted->cpu);
    parameter_set_integer(&body, "memory", wanted->memory_gb);
    parameter_set_integer(&body, "disk", wanted->disk_gb);
    parameter_set_integer(&body, "gpu", wanted->gpu);
    json_set_boolean(&body, "public", wanted->public);
    if (network_asked(request))
        policy_set(&body, network_asked(request));
    if (wanted->network_block)
        json_set_boolean(&body, "networkBlockAll", true);
    parameter_set_text(&body, "networkAllowList", wanted->network_allow_list);
    parameter_set_text(&body, "domainAllowList", wanted->domain_allow_list);
    parameter_set_json(&body, "volumes", wanted->volumes);
    set_lifetimes(&body, request);
    status = parameter_set_variables(call, &body, "env", "environment", wanted->environment);
    if (status == SANDLOT_OK)
        status = set_secrets(call, &body, wanted);
    *text = json_finish(&body, NULL);
    if (status == SANDLOT_OK && !*text)
        status = sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                              "the request for a sandbox cannot be written: a parameter is not UTF-8 or no JSON, or "
                              "memory is short; check the parameters");
    return status;
}

/* ---- the answer ----------------------------------------------------------------------------------------------- */

/* A refusal: of the parameters, or because a limit of the organization is reached. */
static enum sandlot_status refused(struct sandlot_call *call, struct daytona *daytona,
                                   const struct http_response *response)
{
    char said[400];
    struct http_client *client;

    if (http_mentions(response, "quota") || http_mentions(response, "limit exceeded") ||
        http_mentions(response, "maximum allowed")) {
        http_error_text(response->body, response->length, said, sizeof(said));
        return sandlot_fail(call, SANDLOT_EXHAUSTED,
                            "Daytona makes no more sandboxes: \"%s\"; delete some, or ask for a higher limit", said);
    }
    enum sandlot_status status = api_client(call, daytona, &client);

    return status == SANDLOT_OK ? http_response_fail(call, client, NULL, response) : status;
}

/*
 * The sandbox may be there although we were not told so, or were told of a failure: it is then ours all the same, to be
 * used or to be deleted.
 */
static enum sandlot_status look_up(struct sandlot_call *call, struct daytona *daytona, const char *name,
                                   enum sandlot_status failure, struct record *record)
{
    if (record_find(call, daytona, name, record) != SANDLOT_OK || !record->id)
        return failure;
    if (!record->run_label || strcmp(record->run_label, name) != 0) {
        record_clear(record);
        return failure == SANDLOT_OK ? sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                                                    "the name %s is taken by another sandbox; try again", name)
                                     : failure;
    }
    call->host->created(call, record->id, NULL);
    return record->phase == PHASE_FAILED && failure != SANDLOT_OK ? failure : SANDLOT_OK;
}

static enum sandlot_status send(struct sandlot_call *call, struct daytona *daytona, const char *name, const char *text,
                                struct record *record)
{
    static const int answers[] = {400, 409, 0};
    const struct rest_request request = {
        .method = "POST", .target = http_target("/sandbox"), .text = text, .accepted = answers, .repeatable = true};
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *document = NULL;
    enum sandlot_status status = api_send(call, daytona, &request, &response, &document);

    if (status == SANDLOT_OK && response.status == 400)
        status = refused(call, daytona, &response);
    else if (status == SANDLOT_OK && document)
        status = record_read(call, document, record);
    if (status == SANDLOT_OK && record->id) {
        call->host->created(call, record->id, NULL);
        return SANDLOT_OK;
    }
    bool certain = status == SANDLOT_AUTH || status == SANDLOT_CANCELLED || status == SANDLOT_TIMEOUT;

    if (!certain)
        status = look_up(call, daytona, name, status, record);
    if (status == SANDLOT_OK && !record->id)
        status = sandlot_fail(call, SANDLOT_UNAVAILABLE,
                              "Daytona refused to make a sandbox for a moment (status %d); try again", response.status);
    return status;
}

/* A snapshot that nobody used for two weeks is inactive: then it is activated, and asked for once more. */
static enum sandlot_status send_patiently(struct sandlot_call *call, struct daytona *daytona,
                                          const struct sandlot_create *request, const char *text, struct record *record)
{
    const char *snapshot = request->snapshot ? request->snapshot : daytona->parameters.snapshot;
    struct attempt attempt;
    bool active = false;

    if (!parameter_is_said(snapshot))
        return send(call, daytona, request->run_label, text, record);
    attempt_begin(&attempt, call, 0);
    enum sandlot_status status = send(&attempt.call, daytona, request->run_label, text, record);

    if (status != SANDLOT_INVALID_ARGUMENT)
        return status == SANDLOT_OK ? status : attempt_fail(&attempt, status);
    enum sandlot_status activated = snapshots_activate(call, daytona, snapshot, &active);

    if (activated != SANDLOT_OK)
        return activated;
    return active ? send(call, daytona, request->run_label, text, record) : attempt_fail(&attempt, status);
}

enum sandlot_status create_sandbox(struct sandlot_call *call, struct daytona *daytona,
                                   const struct sandlot_create *request, struct record *record)
{
    AUTO_FREE char *text = NULL;
    enum sandlot_status status = policy_check(call, daytona, network_asked(request));

    *record = (struct record){0};
    if (status == SANDLOT_OK)
        status = make_body(call, &daytona->parameters, request, &text);
    if (status == SANDLOT_OK)
        status = send_patiently(call, daytona, request, text, record);
    if (status != SANDLOT_OK)
        record_clear(record);
    return status;
}

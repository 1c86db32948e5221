/*
 * POST /v3/sandboxes, or /v2/sandboxes for the older runtimes.
 *
 * There is no idempotency key, but a name is unique: the run label is the name. A request that is sent again because
 * its answer was lost is refused if the first one arrived, and then the name leads to the sandbox.
 *
 * A session has a hard end, and Vercel knows no end after rest. So the first session is as long as the sandbox may
 * rest, and is made longer while it is used (sandbox.c).
 */
#include "create.h"

#include "policy.h"

#include <inttypes.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/parameters.h>
#include <string.h>
#include <time.h>

enum {
    MOST_TAGS = 5,
    SECOND_MS = 1000,
    SMALL_PLAN_MS = 45 * 60 * 1000, /* the longest session that every plan allows */
    FIVE_MINUTES_MS = 5 * 60 * 1000
};

/* ---- lifetimes ------------------------------------------------------------------------------------------------- */

static int64_t shorter(int64_t one_ms, int64_t other_ms)
{
    return other_ms > 0 && other_ms < one_ms ? other_ms : one_ms;
}

int64_t create_timeout_ms(const struct parameters *parameters, const struct sandlot_create *request)
{
    int64_t longest_ms = api_milliseconds(parameters->session_maximum_s);
    int64_t timeout_ms = shorter(shorter(longest_ms, request->idle_ttl_ms), request->hard_ttl_ms);

    return timeout_ms < SECOND_MS ? SECOND_MS : timeout_ms;
}

/* The hard end as a tag, where sessions could be made longer than that, or where the plan is known not to allow it. */
static void write_until(const struct parameters *parameters, const struct sandlot_create *request, int64_t longest_ms,
                        char text[24])
{
    int64_t end_ms = shorter(longest_ms, request->hard_ttl_ms);

    text[0] = '\0';
    if (end_ms < api_milliseconds(parameters->session_maximum_s))
        snprintf(text, 24, "%" PRId64, (int64_t)time(NULL) * SECOND_MS + end_ms);
}

/* ---- tags ------------------------------------------------------------------------------------------------------ */

/* There is room for five tags only: first those that sandboxes are found by, then the user's, then what else there is.
 */
static enum sandlot_status set_tags(struct sandlot_call *call, const struct parameters *parameters,
                                    const struct sandlot_create *request, int64_t longest_ms, struct json_builder *body)
{
    char until[24];
    int count = 2;
    AUTO_DOCUMENT struct json_object *own = NULL;
    enum sandlot_status status = parameter_texts(call, "tags", parameters->tags, &own);

    if (status != SANDLOT_OK)
        return status;
    write_until(parameters, request, longest_ms, until);
    json_set_member(body, "tags", TAG_RUN, request->run_label);
    json_set_member(body, "tags", TAG_MARK, "1");
    if (*until)
        json_set_member(body, "tags", TAG_UNTIL, until);
    count += *until != '\0';
    if (own && json_object_object_length(own) > MOST_TAGS - count)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "a Vercel sandbox has %d tags at most, of which Sandlot needs %d; leave some of `tags` out",
                            MOST_TAGS, count);
    if (own) {
        json_object_object_foreach(own, name, value)
        {
            json_set_member(body, "tags", name, json_object_get_string(value));
            count++;
        }
    }
    for (size_t i = 0; i < request->label_count && count < MOST_TAGS; i++) {
        const struct sandlot_label *label = &request->labels[i];

        if (!*label->value || strcmp(label->key, TAG_RUN) == 0 || strcmp(label->key, TAG_MARK) == 0)
            continue;
        json_set_member(body, "tags", label->key, label->value);
        count++;
    }
    return SANDLOT_OK;
}

enum sandlot_status create_set_name(struct sandlot_call *call, const struct vercel *vercel,
                                    const struct sandlot_create *request, int64_t longest_ms, struct json_builder *body)
{
    json_set_string(body, "name", request->run_label);
    return set_tags(call, &vercel->parameters, request, longest_ms, body);
}

/* ---- the request ----------------------------------------------------------------------------------------------- */

static enum sandlot_status check(struct sandlot_call *call, const struct parameters *parameters, const char *snapshot)
{
    bool image = parameter_is_said(parameters->image);
    bool runtime = parameter_is_said(parameters->runtime);

    if (image && runtime)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "image and runtime exclude each other: a sandbox starts from one of them; leave one out");
    if (snapshot && (image || runtime || parameter_is_said(parameters->source)))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "a sandbox that starts from a snapshot has everything from there; leave image, runtime and "
                            "source out, or the snapshot");
    if (parameters->network_block && parameter_is_said(parameters->network_policy))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "network_block and network_policy exclude each other; leave one out");
    if (parameters->vcpus != SANDLOT_ABSENT_INTEGER && parameters->vcpus < 1)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "vcpus must be at least 1");
    if (parameters->session_maximum_s < 60)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "session_maximum_s must be at least 60");
    return SANDLOT_OK;
}

static void set_origin(const struct parameters *parameters, const char *snapshot, struct json_builder *body)
{
    if (snapshot) {
        json_set_string(body, "source.type", "snapshot");
        json_set_string(body, "source.snapshotId", snapshot);
        return;
    }
    parameter_set_text(body, "image", parameters->image);
    parameter_set_text(body, "runtime", parameters->runtime);
    parameter_set_json(body, "source", parameters->source);
}

static enum sandlot_status set_tables(struct sandlot_call *call, const struct parameters *parameters,
                                      struct json_builder *body)
{
    struct json_object *ports = NULL;
    enum sandlot_status status = parameter_set_variables(call, body, "env", "environment", parameters->environment);

    if (status == SANDLOT_OK)
        status = parameter_ports(call, "ports", parameters->ports, &ports);
    if (ports)
        json_set_value(body, "ports", ports);
    else
        json_set_array(body, "ports");
    return status;
}

static void set_network(const struct parameters *parameters, const struct sandlot_network *network,
                        struct json_builder *body)
{
    if (network)
        policy_set(body, network);
    else if (parameters->network_block)
        json_set_string(body, "networkPolicy.mode", "deny-all");
    else
        parameter_set_json(body, "networkPolicy", parameters->network_policy);
}

static enum sandlot_status make_body(struct sandlot_call *call, const struct vercel *vercel,
                                     const struct sandlot_create *request, int64_t timeout_ms, int64_t longest_ms,
                                     struct json_builder *body)
{
    const struct parameters *parameters = &vercel->parameters;
    const char *snapshot = request->snapshot                         ? request->snapshot
                           : parameter_is_said(parameters->snapshot) ? parameters->snapshot
                                                                     : NULL;
    enum sandlot_status status = check(call, parameters, snapshot);

    json_set_string(body, "projectId", vercel->credentials.project);
    json_set_integer(body, "timeout", timeout_ms);
    json_set_boolean(body, "persistent", parameters->persistent);
    parameter_set_text(body, "region", parameters->region);
    set_origin(parameters, snapshot, body);
    set_network(parameters, network_asked(request), body);
    parameter_set_integer(body, "resources.vcpus", parameters->vcpus);
    if (parameters->snapshot_expiration_s != SANDLOT_ABSENT_INTEGER)
        json_set_integer(body, "snapshotExpiration", api_milliseconds(parameters->snapshot_expiration_s));
    if (status == SANDLOT_OK)
        status = create_set_name(call, vercel, request, longest_ms, body);
    if (status == SANDLOT_OK)
        status = set_tables(call, parameters, body);
    return status;
}

/* ---- the answer ------------------------------------------------------------------------------------------------ */

/* The sandbox may be there although we were not told so: it is then ours all the same, to be used or to be deleted. */
static enum sandlot_status look_up(struct sandlot_call *call, struct vercel *vercel, const char *name,
                                   enum sandlot_status failure, struct record *record)
{
    if (record_find(call, vercel, name, record) != SANDLOT_OK || !record->document)
        return failure;
    if (!record->run_label || strcmp(record->run_label, name) != 0) {
        record_clear(record);
        return failure == SANDLOT_OK ? sandlot_fail(call, SANDLOT_UNAVAILABLE,
                                                    "Vercel has another sandbox called '%.128s'; try again", name)
                                     : failure;
    }
    call->host->created(call, record->name, record->working_dir);
    return SANDLOT_OK;
}

enum sandlot_status create_send(struct sandlot_call *call, struct vercel *vercel, enum api_scope scope,
                                struct rest_request *request, const char *name, struct record *record, char refusal[64])
{
    static const int refusals[] = {400, 409, 0};
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *answer = NULL;

    *record = (struct record){0};
    refusal[0] = '\0';
    request->accepted = refusals;
    request->repeatable = true;
    request->method = "POST";
    enum sandlot_status status = api_send(call, vercel, scope, request, &response, &answer);

    if (status == SANDLOT_OK && answer)
        status = record_read(call, answer, record);
    if (status == SANDLOT_OK && record->document) {
        call->host->created(call, record->name, record->working_dir);
        return SANDLOT_OK;
    }
    /* Nobody waited for the answer any more: what the request makes is to be deleted. */
    if (status == SANDLOT_CANCELLED || status == SANDLOT_TIMEOUT)
        call->host->created(call, name, NULL);
    /* A name that is taken may be told by any status of a bad request: it can be ours, by an answer that was lost. */
    bool certain = status != SANDLOT_OK && status != SANDLOT_UNAVAILABLE && status != SANDLOT_INTERNAL &&
                   status != SANDLOT_INVALID_ARGUMENT;

    if (certain || status == SANDLOT_CANCELLED)
        return status;
    status = look_up(call, vercel, name, status, record);
    if (status != SANDLOT_OK || record->document)
        return status;
    api_error_code(response.body, response.length, refusal);
    if (strcmp(refusal, "sandbox_timeout_invalid") == 0)
        return SANDLOT_OK;
    refusal[0] = '\0';
    return http_response_fail(call, vercel->client, &(struct http_request){.method = "POST", .target = "/sandboxes"},
                              &response);
}

/*
 * Plans differ in how long a session may be, and no request tells which one this is. So a refused length is replaced by
 * shorter ones that more plans allow.
 */
enum sandlot_status create_sandbox(struct sandlot_call *call, struct vercel *vercel,
                                   const struct sandlot_create *request, struct record *record)
{
    const int64_t wanted_ms = create_timeout_ms(&vercel->parameters, request);
    const int64_t lengths_ms[] = {wanted_ms, SMALL_PLAN_MS, FIVE_MINUTES_MS};
    const char *path = parameter_is_said(vercel->parameters.runtime) ? "/v2/sandboxes" : "/v3/sandboxes";
    char refusal[64] = "";
    enum sandlot_status status = policy_check(call, vercel, network_asked(request));

    if (status != SANDLOT_OK)
        return status;
    for (size_t i = 0; i < sizeof(lengths_ms) / sizeof(*lengths_ms); i++) {
        if (i > 0 && lengths_ms[i] >= wanted_ms)
            continue;
        struct json_builder body = {0};
        struct rest_request order = {.target = http_target(path), .body = &body};

        status = make_body(call, vercel, request, lengths_ms[i],
                           i > 0 ? lengths_ms[i] : api_milliseconds(vercel->parameters.session_maximum_s), &body);
        if (status != SANDLOT_OK)
            return rest_drop(&order, status);
        status = create_send(call, vercel, API_SESSION, &order, request->run_label, record, refusal);
        if (status != SANDLOT_OK || record->document)
            return status;
        call->host->log(call, SANDLOT_LOG_INFO, "Vercel refuses so long a session; asking for a shorter one");
    }
    return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                        "Vercel refuses a session of %" PRId64 " s (%s); set ttl_s to what your plan allows",
                        wanted_ms / SECOND_MS, refusal);
}

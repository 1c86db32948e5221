/*
 * POST /api/v1/sandboxes answers when the sandbox runs, mostly within a second. There is no key that makes a second
 * request the same as the first one, and a sandbox has neither name nor label.
 *
 * But it has services, ports that somebody may be led to, each with an id. One that leads nobody anywhere carries the
 * run label there: it is read back when a sandbox is asked for, so that one whose answer was lost is found (label.c).
 * Whoever gives up waiting is given a moment more.
 */
#include "create.h"

#include "label.h"
#include "policy.h"

#include <inttypes.h>
#include <sandlot/sdk/creation.h>

enum { ASKINGS = 5, SECOND_MS = 1000 };

/* ---- lifetimes ------------------------------------------------------------------------------------------------- */

static int64_t seconds(int64_t milliseconds)
{
    return milliseconds / SECOND_MS + (milliseconds % SECOND_MS != 0);
}

/* The service pauses after `ttl`, however busy the sandbox is, and deletes after `hard_ttl`; 0 is never for either.
 * What is not said by our own parameters is as ttl_s and hard_ttl_s say, whose defaults are the same. */
enum sandlot_status create_set_lifetimes(struct sandlot_call *call, const struct parameters *parameters,
                                         const struct sandlot_create *request, struct json_builder *body)
{
    bool own = parameters->sandbox_ttl_sec != DEFAULT_TTL_S;
    bool hard_own = parameters->sandbox_hard_ttl_sec != DEFAULT_HARD_TTL_S;
    int64_t ttl_s = own ? parameters->sandbox_ttl_sec : seconds(request->idle_ttl_ms);
    int64_t hard_s = hard_own ? parameters->sandbox_hard_ttl_sec : seconds(request->hard_ttl_ms);

    if (ttl_s < 0 || hard_s < 0)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "%s must be 0 or more seconds",
                            ttl_s < 0 ? "sandbox_ttl_sec" : "sandbox_hard_ttl_sec");
    if (hard_s > 0 && ttl_s > hard_s && own && hard_own)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "sandbox_ttl_sec (%" PRId64 ") must not be more than sandbox_hard_ttl_sec (%" PRId64 ")",
                            ttl_s, hard_s);
    json_set_integer(body, "config.ttl", hard_s > 0 && ttl_s > hard_s ? hard_s : ttl_s);
    json_set_integer(body, "config.hard_ttl", hard_s);
    return SANDLOT_OK;
}

/* ---- the request ----------------------------------------------------------------------------------------------- */

static enum sandlot_status make_body(struct sandlot_call *call, const struct parameters *parameters,
                                     const struct sandlot_create *request, const char *label, struct json_builder *body)
{
    struct json_builder policy = {0};

    json_set_string(body, "template", parameters->template);
    parameter_set_text(body, "snapshot_id", request->snapshot ? request->snapshot : parameters->snapshot);
    parameter_set_text(body, "config.resources.memory", parameters->memory);
    parameter_set_json(body, "config.network", parameters->network);
    if (network_asked(request)) {
        policy_write(&policy, network_asked(request));
        json_set_built(body, "config.network", &policy);
    }
    if (!parameters->auto_resume)
        json_set_boolean(body, "config.auto_resume", false);
    label_set(body, label);
    enum sandlot_status status = create_set_lifetimes(call, parameters, request, body);

    return status == SANDLOT_OK
               ? parameter_set_variables(call, body, "config.env_vars", "environment", parameters->environment)
               : status;
}

/* ---- the answer ------------------------------------------------------------------------------------------------ */

/* One claim, however often it is asked for. */
struct claim {
    struct sandbox0 *sandbox0;
    const struct sandlot_create *request;
    const char *label; /* NULL: the service refuses to have it */
    int64_t begun_ms;
    char *id; /* what came of it */
    bool running;
};

static enum sandlot_status take(struct sandlot_call *call, struct claim *claim, struct json_object *answer)
{
    const char *id;
    struct json_error error = {"has an empty id"};

    if (!json_read_string(answer, "data.sandbox_id", &id, &error) || *id == '\0')
        return json_fail(call, SERVICE "'s answer to a claim", &error);
    call->host->created(call, id, NULL);
    claim->running = json_says(answer, "data.status", "running");
    claim->id = strdup(id);
    return claim->id ? SANDLOT_OK : http_no_memory(call);
}

/* Refused before anything was made, for a reason that passes? */
static bool passes(const struct http_response *response)
{
    if (response->status == 429)
        return response->retry_ms >= 0 || !api_says(response, "quota_exceeded");
    return response->status == 503 || (response->status == 409 && api_says(response, "template_not_ready"));
}

/* As `ask` of struct creation. */
static enum sandlot_status ask(struct sandlot_call *call, void *context, struct http_response *response,
                               enum creation_next *next)
{
    static const int refusals[] = {400, 409, 429, 503, 0};
    struct claim *claim = context;
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct json_builder body = {0};
    const struct rest_request order = {
        .method = "POST", .target = http_target(SANDBOXES), .body = &body, .never_repeat = true, .accepted = refusals};
    enum sandlot_status status = make_body(call, &claim->sandbox0->parameters, claim->request, claim->label, &body);

    status =
        status == SANDLOT_OK ? api_send(call, claim->sandbox0, order, response, &answer) : rest_drop(&order, status);
    if (status == SANDLOT_OK && answer)
        status = take(call, claim, answer);
    if (claim->id)
        return SANDLOT_OK;
    if (status == SANDLOT_UNAVAILABLE || status == SANDLOT_INTERNAL)
        *next = CREATION_UNCLEAR;
    if (status != SANDLOT_OK)
        return status;
    if (response->status == 400 && claim->label && label_is_refused(response)) {
        claim->label = NULL;
        *next = CREATION_CHANGED;
    } else if (passes(response)) {
        *next = CREATION_REFUSED;
    }
    return http_response_fail(call, claim->sandbox0->client, NULL, response);
}

static enum sandlot_status look_up(struct sandlot_call *call, void *context, bool *found)
{
    struct claim *claim = context;
    enum sandlot_status status =
        label_find(call, claim->sandbox0, claim->request->run_label, claim->begun_ms, &claim->id);

    *found = claim->id;
    return status;
}

enum sandlot_status create_claim(struct sandlot_call *call, struct sandbox0 *sandbox0,
                                 const struct sandlot_create *request, char **id, bool *running)
{
    struct claim claim = {
        .sandbox0 = sandbox0, .request = request, .label = request->run_label, .begun_ms = sandlot_now_ms()};
    const struct creation creation = {
        .service = SERVICE, .context = &claim, .ask = ask, .look_up = look_up, .askings = ASKINGS, .lingers = true};
    enum sandlot_status status = policy_check(call, sandbox0, network_asked(request));

    if (status == SANDLOT_OK)
        status = creation_run(call, &creation);
    if (status == SANDLOT_OK && network_asked(request) && network_asked(request)->credential_count > 0)
        status = policy_put(call, sandbox0, claim.id, network_asked(request));
    *id = claim.id;
    *running = claim.running;
    return status;
}

/*
 * POST /api/v1/sandboxes answers when the sandbox runs, mostly within a second. There is no key that makes a second
 * request the same as the first one, and a sandbox has neither name nor label.
 *
 * But it has services, ports that somebody may be led to, each with an id. One that leads nobody anywhere carries the
 * run label there: it is read back when a sandbox is asked for, so that one whose answer was lost is found (label.c).
 * Whoever gives up waiting is given a moment more, by linger.h.
 */
#include "create.h"

#include "label.h"
#include "policy.h"

#include <inttypes.h>
#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/linger.h>
#include <sandlot/sdk/pause.h>
#include <string.h>

enum { ATTEMPTS = 5, FIRST_PAUSE_MS = 500, LONGEST_WISH_MS = 60 * 1000, SECOND_MS = 1000 };

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
                                     const struct sandlot_create *request, const char *label, char **text)
{
    struct json_builder body = {0};
    enum sandlot_status status = create_set_lifetimes(call, parameters, request, &body);

    json_set_string(&body, "template", parameters->template);
    parameter_set_text(&body, "snapshot_id", request->snapshot ? request->snapshot : parameters->snapshot);
    parameter_set_text(&body, "config.resources.memory", parameters->memory);
    parameter_set_json(&body, "config.network", parameters->network);
    if (network_asked(request))
        json_set_value(&body, "config.network", policy_document(network_asked(request)));
    if (!parameters->auto_resume)
        json_set_boolean(&body, "config.auto_resume", false);
    if (status == SANDLOT_OK)
        status = parameter_set_variables(call, &body, "config.env_vars", "environment", parameters->environment);
    label_set(&body, label);
    *text = json_finish(&body, NULL);
    if (status == SANDLOT_OK && !*text)
        status = sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                              "the request for a sandbox cannot be written: a parameter is not UTF-8 or no JSON, or "
                              "memory is short; check the parameters");
    return status;
}

/* ---- the answer ------------------------------------------------------------------------------------------------ */

/* One claim, however often it is asked for. */
struct claim {
    struct sandlot_call *call;
    struct sandbox0 *sandbox0;
    const struct sandlot_create *request;
    const char *label; /* NULL: the service refuses to have it */
    char *body;
    int64_t begun_ms;
    int pause_ms;
    char *id; /* what came of it */
    bool running;
};

static enum sandlot_status take(struct sandlot_call *call, struct claim *claim, struct json_object *answer)
{
    const char *id;
    const char *state = "starting";
    struct json_error error = {"has an empty id"};

    if (!json_read_string(answer, "data.sandbox_id", &id, &error) || *id == '\0')
        return json_fail(call, SERVICE "'s answer to a claim", &error);
    claim->call->host->created(claim->call, id, NULL);
    json_find_string(answer, "data.status", &state, NULL);
    claim->running = strcmp(state, "running") == 0;
    claim->id = strdup(id);
    return claim->id ? SANDLOT_OK : api_no_memory(call);
}

/* Refused before anything was made, for a reason that passes? */
static bool passes(const struct http_response *response)
{
    if (response->status == 429)
        return response->retry_ms <= LONGEST_WISH_MS &&
               (response->retry_ms >= 0 || !api_says(response, "quota_exceeded"));
    return response->status == 503 || (response->status == 409 && api_says(response, "template_not_ready"));
}

/* Asks once, within ATTEMPT. *CERTAIN: the answer says what became of it. */
static enum sandlot_status ask(struct sandlot_call *call, struct claim *claim, struct http_response *response,
                               bool *certain)
{
    static const int refusals[] = {400, 409, 429, 503, 0};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    const struct rest_request order = {.method = "POST",
                                       .target = http_target(SANDBOXES),
                                       .text = claim->body,
                                       .never_repeat = true,
                                       .accepted = refusals};
    enum sandlot_status status = api_send(call, claim->sandbox0, order, response, &answer);

    if (status == SANDLOT_OK && answer)
        status = take(call, claim, answer);
    *certain = status != SANDLOT_UNAVAILABLE && status != SANDLOT_INTERNAL;
    return status;
}

/* The same, and what is to be done then. *AGAIN: it is to be asked for once more. */
static enum sandlot_status ask_and_look(struct claim *claim, bool last, bool *again)
{
    AUTO_RESPONSE struct http_response response = {0};
    struct attempt attempt;
    struct linger linger;
    bool certain = false;

    *again = false;
    attempt_begin(&attempt, claim->call, 0);
    linger_begin(&linger, &attempt.call);
    enum sandlot_status status = ask(&attempt.call, claim, &response, &certain);

    linger_end(&linger);
    if (claim->id)
        return SANDLOT_OK;
    if (certain && response.status == 400 && claim->label && label_is_refused(&response)) {
        claim->label = NULL;
        free(claim->body);
        *again = true;
        return make_body(claim->call, &claim->sandbox0->parameters, claim->request, NULL, &claim->body);
    }
    if (certain && status == SANDLOT_OK) {
        *again = !last && passes(&response);
        if (response.retry_ms > claim->pause_ms)
            claim->pause_ms = (int)response.retry_ms;
        return *again ? SANDLOT_OK : api_refused(claim->call, claim->sandbox0, "POST", SANDBOXES, &response);
    }
    if (certain)
        return attempt_fail(&attempt, status);
    enum sandlot_status looked =
        label_find(claim->call, claim->sandbox0, claim->request->run_label, claim->begun_ms, &claim->id);

    *again = looked == SANDLOT_OK && !claim->id && !last;
    if (claim->id || *again)
        return SANDLOT_OK;
    return looked == SANDLOT_OK ? attempt_fail(&attempt, status) : looked;
}

static enum sandlot_status claim_until_known(struct claim *claim)
{
    for (int attempt = 1;; attempt++) {
        bool again;
        enum sandlot_status status = ask_and_look(claim, attempt == ATTEMPTS, &again);

        if (!again || status != SANDLOT_OK)
            return status;
        status = pause_longer(claim->call, SERVICE, &claim->pause_ms, claim->pause_ms * 2);
        if (status != SANDLOT_OK)
            return status;
    }
}

enum sandlot_status create_claim(struct sandlot_call *call, struct sandbox0 *sandbox0,
                                 const struct sandlot_create *request, char **id, bool *running)
{
    struct claim claim = {.call = call,
                          .sandbox0 = sandbox0,
                          .request = request,
                          .label = request->run_label,
                          .begun_ms = sandlot_now_ms(),
                          .pause_ms = FIRST_PAUSE_MS};
    enum sandlot_status status = policy_check(call, sandbox0, network_asked(request));

    if (status == SANDLOT_OK)
        status = make_body(call, &sandbox0->parameters, request, claim.label, &claim.body);
    if (status == SANDLOT_OK)
        status = claim_until_known(&claim);
    if (status == SANDLOT_OK && network_asked(request) && network_asked(request)->credential_count > 0)
        status = policy_put(call, sandbox0, claim.id, network_asked(request));
    free(claim.body);
    *id = claim.id;
    *running = claim.running;
    return status;
}

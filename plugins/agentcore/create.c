#include "create.h"

#include "lifecycle.h"
#include "sandbox.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/digest.h>
#include <sandlot/sdk/http.h>
#include <sandlot/sdk/json.h>

#include <string.h>

enum { SECOND_MS = 1000, LONGEST_S = 8 * 60 * 60, SHORTEST_S = 60 };

/* ---- the request ------------------------------------------------------------------------------------------------- */

/* A session's time counts from its start, whatever it does, and is never made longer: so it is no time of rest. */
static int64_t lifetime_s(const struct sandlot_create *request)
{
    int64_t seconds = request->hard_ttl_ms / SECOND_MS;

    if (request->hard_ttl_ms <= 0 || seconds > LONGEST_S)
        return LONGEST_S;
    return seconds < SHORTEST_S ? SHORTEST_S : seconds;
}

static char *make_body(const struct parameters *parameters, const struct sandlot_create *request)
{
    struct json_builder body = {0};
    char token[DIGEST_SIZE];

    /* The same for the same creation: AgentCore then starts no second session. */
    body.failed = !digest_of(request->run_label, strlen(request->run_label), token);
    json_set_string(&body, "name", request->run_label);
    json_set_integer(&body, "sessionTimeoutSeconds", lifetime_s(request));
    json_set_string(&body, "clientToken", token);
    json_set_text(&body, "certificates", parameters->certificates);
    json_set_text(&body, "filesystemConfigurations", parameters->filesystems);
    return json_finish(&body, NULL);
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

/* The session may be there although we were not told so: it is then ours all the same. */
static enum sandlot_status look_up(struct sandlot_call *call, struct agentcore *agentcore, const char *label,
                                   enum sandlot_status failure, char **id)
{
    if (lifecycle_find(call, agentcore, label, id) != SANDLOT_OK || !*id)
        return failure;
    call->host->created(call, *id, WORKING_DIR);
    return SANDLOT_OK;
}

static enum sandlot_status read_id(struct sandlot_call *call, struct json_object *answer, char **id)
{
    const char *said = NULL;
    struct json_error error;

    if (!json_read_string(answer, "sessionId", &said, &error))
        return json_fail(call, "AgentCore's answer to starting a session", &error);
    if (!api_is_session(said))
        return sandlot_fail(
            call, SANDLOT_INTERNAL,
            "AgentCore's answer to starting a session has '%.64s' where an id should be; check base_url", said);
    *id = strdup(said);
    if (!*id)
        return http_no_memory(call);
    call->host->created(call, *id, WORKING_DIR);
    return SANDLOT_OK;
}

enum sandlot_status create_session(struct sandlot_call *call, struct agentcore *agentcore,
                                   const struct sandlot_create *request, char **id)
{
    AUTO_FREE char *body = make_body(&agentcore->parameters, request);
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *answer = NULL;

    if (!body)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "the request for a session cannot be written: a parameter is no JSON or not UTF-8, or "
                            "memory is short; check certificates and filesystems");
    const struct api_request start = {
        .method = "PUT", .operation = "/sessions/start", .body = body, .length = strlen(body)};
    enum sandlot_status status = api_ask(call, agentcore, &start, &response, &answer);

    if (status == SANDLOT_OK)
        status = read_id(call, answer, id);
    /* Nobody knows whether it was carried out. (A call that was cancelled asks no more: the host looks for the label.)
     */
    bool unclear = status == SANDLOT_UNAVAILABLE || (status == SANDLOT_INTERNAL && response.status < 300);

    return unclear ? look_up(call, agentcore, request->run_label, status, id) : status;
}

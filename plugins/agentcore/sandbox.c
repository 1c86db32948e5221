#include "sandbox.h"

#include "create.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/http.h>
#include <sandlot/sdk/json.h>

#include <string.h>

void sandbox_release(void *provider, void *handle)
{
    struct sandbox *sandbox = handle;

    (void)provider;
    if (!sandbox)
        return;
    free(sandbox->id);
    pthread_mutex_destroy(&sandbox->lock);
    free(sandbox);
}

static enum sandlot_status open_handle(struct sandlot_call *call, struct agentcore *agentcore, const char *id,
                                       enum nursery_state nursery, void **made)
{
    struct sandbox *sandbox = calloc(1, sizeof(*sandbox));

    if (!sandbox)
        return http_no_memory(call);
    *sandbox = (struct sandbox){.agentcore = agentcore, .id = strdup(id), .nursery = nursery};
    pthread_mutex_init(&sandbox->lock, NULL);
    if (!sandbox->id) {
        sandbox_release(agentcore, sandbox);
        return http_no_memory(call);
    }
    *made = sandbox;
    return SANDLOT_OK;
}

/* Looks at the session ID: one that has ended is still shown, for a month. */
static enum sandlot_status attach(struct sandlot_call *call, struct agentcore *agentcore, const char *id, void **made)
{
    static const int missing[] = {404, 0};
    const struct api_request request = {
        .method = "GET", .operation = "/sessions/get", .session = id, .accepted = missing};
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    const char *state = "READY"; /* where none is told: its first use tells */
    struct json_error error;
    enum sandlot_status status = SANDLOT_OK;

    if (api_is_session(id))
        status = api_ask(call, agentcore, &request, &response, &answer);
    if (status != SANDLOT_OK)
        return status;
    if (answer && !json_find_string(answer, "status", &state, &error))
        return json_fail(call, "AgentCore's answer about a session", &error);
    if (!answer || strcmp(state, "READY") != 0)
        return sandlot_fail(call, SANDLOT_NOT_FOUND,
                            "AgentCore has no session '%.64s' %s; check the id, the interpreter and the region, or "
                            "create another one",
                            id, answer ? "any more" : "of this interpreter in this region");
    return open_handle(call, agentcore, id, NURSERY_UNKNOWN, made);
}

enum sandlot_status sandbox_get_or_create(struct sandlot_call *call, void *provider,
                                          const struct sandlot_create *request, void **sandbox)
{
    AUTO_FREE char *id = NULL;

    if (request->sandbox_id)
        return attach(call, provider, request->sandbox_id, sandbox);
    if (request->snapshot)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "AgentCore has no snapshots; use an interpreter of your own, with what it needs");
    enum sandlot_status status = create_session(call, provider, request, &id);

    return status == SANDLOT_OK ? open_handle(call, provider, id, NURSERY_NONE, sandbox) : status;
}

#include "sandbox.h"

#include "create.h"
#include "policy.h"
#include "snapshot.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/clients.h>
#include <sandlot/sdk/pause.h>
#include <sandlot/sdk/text_format.h>
#include <sandlot/sdk/timestamp.h>

#include <ctype.h>
#include <string.h>

#define DEFAULT_SNAPSHOT "sandlot"

enum {
    LONGEST_WAIT_S = 120, /* that the service is asked to wait: its gateways cut what takes minutes */
    SPARE_S = 5,          /* of our own time, to look again after that */
    ANSWER_S = 30,        /* that it may take longer than it was asked to wait */
    FIRST_PAUSE_MS = 250,
    LONGEST_PAUSE_MS = 2000,
    AWAKE_MS = 5 * 60 * 1000 /* no sandbox falls asleep in less than ten minutes unless it was asked to */
};

/* ---- handles ---------------------------------------------------------------------------------------------------- */

/* NAME is taken over, and NULL if memory is short. */
static struct sandbox *sandbox_new(struct api *api, char *name)
{
    struct sandbox *sandbox = name ? calloc(1, sizeof(*sandbox)) : NULL;

    if (!sandbox) {
        free(name);
        return NULL;
    }
    sandbox->api = api;
    sandbox->name = name;
    pthread_mutex_init(&sandbox->lock, NULL);
    http_relay_places_init(&sandbox->places);
    return sandbox;
}

void sandbox_release(void *provider, void *handle)
{
    struct sandbox *sandbox = handle;

    (void)provider;
    if (!sandbox)
        return;
    http_relay_places_clear(&sandbox->places);
    free(sandbox->name);
    free(sandbox->address);
    pthread_mutex_destroy(&sandbox->lock);
    free(sandbox);
}

static enum sandlot_status no_memory(struct sandlot_call *call)
{
    return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for a sandbox at LangSmith; free some");
}

enum sandlot_status sandbox_not_there(struct sandlot_call *call, const char *name)
{
    return sandlot_fail(call, SANDLOT_NOT_FOUND,
                        "LangSmith has no sandbox '%s' (any more); it may have been deleted after it stood unused, "
                        "create another one",
                        name);
}

void sandbox_seen_awake(struct sandbox *sandbox)
{
    sandbox->awake_at_ms = sandlot_now_ms();
}

void sandbox_seen_asleep(struct sandbox *sandbox)
{
    sandbox->awake_at_ms = 0;
}

char *sandbox_target(struct sandbox *sandbox, const char *operation, const char *path)
{
    pthread_mutex_lock(&sandbox->lock);
    char *target = sandbox->address ? data_target(sandbox->address, operation, path) : NULL;

    pthread_mutex_unlock(&sandbox->lock);
    return target;
}

enum sandlot_status sandbox_open_socket(struct sandlot_call *call, struct sandbox *sandbox, const char *operation,
                                        struct http_response *answer, struct websocket **socket)
{
    AUTO_FREE char *target = sandbox_target(sandbox, operation, NULL);
    const char *const headers[] = {sandbox->api->key_header, sandbox->api->workspace_header, NULL};
    const struct websocket_request request = {.target = target, .headers = headers, .answer = answer};

    return websocket_open(call, sandbox->api->client, &request, socket);
}

/* ---- what the service says of a sandbox -------------------------------------------------------------------------- */

static bool is_state(const char *state, const char *word)
{
    return strcmp(state, word) == 0;
}

/* The state in DOCUMENT, a sandbox. One that nothing leads out of fails the call. */
static enum sandlot_status read_state(struct sandlot_call *call, const char *name, struct json_object *document,
                                      const char **state)
{
    const char *message = NULL;
    struct json_error error;

    if (!json_read_string(document, "status", state, &error))
        return json_fail(call, ABOUT_SANDBOX, &error);
    json_find_string(document, "status_message", &message, NULL);
    if (is_state(*state, "failed"))
        return sandlot_fail(call, SANDLOT_INTERNAL, "the sandbox '%s' failed at LangSmith: %s; create another one",
                            name, message && *message ? message : "it does not say why");
    return is_state(*state, "deleting") ? sandbox_not_there(call, name) : SANDLOT_OK;
}

/* Keeps where the data plane is. Without an address there is none for as long as the deployment stays as it is. */
static enum sandlot_status take_address(struct sandlot_call *call, struct sandbox *sandbox, const char *address)
{
    if (!address || !*address)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "LangSmith gave the sandbox '%s' no address for commands and files: this deployment has no "
                            "data plane for sandboxes; ask its operator",
                            sandbox->name);
    if (!clients_are_as_safe(sandbox->api->address, address))
        return sandlot_fail(call, SANDLOT_INTERNAL,
                            "LangSmith gave the sandbox '%s' an address without TLS; the key is not sent there",
                            sandbox->name);
    char *copy = strdup(address);

    if (!copy)
        return no_memory(call);
    pthread_mutex_lock(&sandbox->lock);
    free(sandbox->address);
    sandbox->address = copy;
    pthread_mutex_unlock(&sandbox->lock);
    return SANDLOT_OK;
}

/* Takes over what DOCUMENT, a whole sandbox, says. A new one gets its address with its readiness at the latest. */
static enum sandlot_status take_sandbox(struct sandlot_call *call, struct sandbox *sandbox,
                                        struct json_object *document)
{
    const char *state;
    const char *address = NULL;
    enum sandlot_status status = read_state(call, sandbox->name, document, &state);

    if (status != SANDLOT_OK)
        return status;
    /* One that sleeps wakes with the first request to its data plane. */
    bool usable = is_state(state, "ready") || is_state(state, "stopped");

    json_find_string(document, "dataplane_url", &address, NULL);
    if (usable || (address && *address))
        status = take_address(call, sandbox, address);
    if (status == SANDLOT_OK && is_state(state, "ready"))
        sandbox_seen_awake(sandbox);
    if (status == SANDLOT_OK && usable)
        sandbox->ready = true;
    return status;
}

/* Asks for what PATTERN has of the sandbox NAME. */
static enum sandlot_status get(struct sandlot_call *call, struct api *api, const char *pattern, const char *name,
                               struct api_answer *answer)
{
    enum sandlot_status status = api_get(call, api, http_target(pattern, name), api_missing, ABOUT_SANDBOX, answer);

    return status == SANDLOT_OK && answer->status == 404 ? sandbox_not_there(call, name) : status;
}

/* Asks for the whole of it. */
static enum sandlot_status look(struct sandlot_call *call, struct sandbox *sandbox)
{
    AUTO_ANSWER struct api_answer answer = {0};
    enum sandlot_status status = get(call, sandbox->api, "/boxes/{}", sandbox->name, &answer);

    return status == SANDLOT_OK ? take_sandbox(call, sandbox, answer.document) : status;
}

enum sandlot_status sandbox_state(struct sandlot_call *call, struct api *api, const char *name, char state[STATE_SIZE])
{
    AUTO_ANSWER struct api_answer answer = {0};
    const char *text;
    enum sandlot_status status = get(call, api, "/boxes/{}/status", name, &answer);

    if (status == SANDLOT_OK)
        status = read_state(call, name, answer.document, &text);
    if (status == SANDLOT_OK)
        snprintf(state, STATE_SIZE, "%s", text);
    return status;
}

enum sandlot_status sandbox_must_exist(struct sandlot_call *call, const struct sandbox *sandbox)
{
    char state[STATE_SIZE];

    return sandbox_state(call, sandbox->api, sandbox->name, state);
}

/* ---- creating --------------------------------------------------------------------------------------------------- */

/* Is the sandbox in DOCUMENT the one that we asked for? An older server has no labels; then the name, which nobody else
 * makes, has to do. */
static bool is_ours(struct json_object *document, const struct sandlot_create *request)
{
    const char *label = NULL;

    json_find_string(document, "labels.\"" RUN_LABEL "\"", &label, NULL);
    return !label || strcmp(label, request->run_label) == 0;
}

/* The answer to the request was lost, or says no more than that the name is taken: looks whether it is ours. */
static enum sandlot_status adopt(struct sandlot_call *call, struct sandbox *sandbox,
                                 const struct sandlot_create *request)
{
    AUTO_ANSWER struct api_answer answer = {0};
    enum sandlot_status status = get(call, sandbox->api, "/boxes/{}", sandbox->name, &answer);

    if (status != SANDLOT_OK)
        return status;
    if (!is_ours(answer.document, request))
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "LangSmith has another sandbox called '%s'; try again",
                            sandbox->name);
    call->host->created(call, sandbox->name, NULL);
    return take_sandbox(call, sandbox, answer.document);
}

/* How long the service may wait, so that there is time to look again afterwards. */
static int64_t wait_s(const struct sandlot_call *call)
{
    int64_t left_s = sandlot_remaining_ms(call, (LONGEST_WAIT_S + SPARE_S) * 1000) / 1000 - SPARE_S;

    return left_s < 1 ? 1 : left_s;
}

/*
 * Asks for the sandbox once, or, when answers are lost, until one comes: the name is unique, so that a second asking
 * makes no second one. *REFUSED: 400 or 404, which for a snapshot by name may mean that there is none.
 */
static enum sandlot_status ask(struct sandlot_call *call, struct sandbox *sandbox, struct creation *creation,
                               bool *refused)
{
    static const int by_name[] = {400, 404, 408, 409, 422, 0};
    static const int by_id[] = {408, 409, 422, 0};
    AUTO_ANSWER struct api_answer answer = {0};
    struct json_builder body = {0};

    creation->wait_s = wait_s(call);
    const struct api_request request = {.method = "POST",
                                        .target = http_target("/boxes"),
                                        .body = &body,
                                        .repeatable = true,
                                        .expected = creation->snapshot_name ? by_name : by_id,
                                        .silence_ms = (creation->wait_s + ANSWER_S) * 1000};

    *refused = false;
    creation_write(&body, &sandbox->api->parameters, creation);
    enum sandlot_status status = api_send(call, sandbox->api, &request, &answer);

    /* Nobody waited for the answer any more, or the service failed half way: what it made is to be deleted. */
    if (status == SANDLOT_CANCELLED || status == SANDLOT_TIMEOUT || answer.status >= 500 ||
        (answer.status == 422 && answer.error[0]))
        call->host->created(call, sandbox->name, NULL);
    if (status != SANDLOT_OK)
        return status;
    if (answer.status == 422)
        return api_refuse(call, &answer, "to create the sandbox");
    *refused = answer.status == 400 || answer.status == 404;
    if (*refused)
        return SANDLOT_OK;
    /* An answer that makes no sense comes after the deed. 408: it is not ready yet, but it is there, mostly. */
    if (answer.status >= 300 || !answer.document) {
        struct attempt attempt;

        attempt_begin(&attempt, call, 0);
        status = adopt(&attempt.call, sandbox, creation->request);
        if (status != SANDLOT_NOT_FOUND || answer.status < 300)
            return status == SANDLOT_OK ? status : attempt_fail(&attempt, status);
        call->host->created(call, sandbox->name, NULL); /* should it show itself later */
        return api_refuse(call, &answer, "to create the sandbox");
    }
    call->host->created(call, sandbox->name, NULL);
    return take_sandbox(call, sandbox, answer.document);
}

static bool is_uuid(const char *text)
{
    size_t length = strlen(text);

    for (size_t i = 0; i < length; i++)
        if (i == 8 || i == 13 || i == 18 || i == 23 ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
            return false;
    return length == 36;
}

static void choose_snapshot(struct sandlot_call *call, const struct parameters *parameters, struct creation *creation)
{
    const char *named = creation->request->snapshot ? creation->request->snapshot : parameters->snapshot;

    creation->snapshot_id = call->host->environment(call, "LANGSMITH_SANDBOX_SNAPSHOT_ID");
    if (creation->snapshot_id)
        return;
    if (!named)
        named = call->host->environment(call, "LANGSMITH_SANDBOX_SNAPSHOT_NAME");
    if (named && is_uuid(named))
        creation->snapshot_id = named;
    else
        creation->snapshot_name = named ? named : DEFAULT_SNAPSHOT;
}

/* The snapshot is there almost always, so the service is asked to find it by its name; only when it does not is it
 * looked up, and built where it is missing. */
static enum sandlot_status create(struct sandlot_call *call, struct sandbox *sandbox, struct creation *creation)
{
    bool refused;
    enum sandlot_status status = ask(call, sandbox, creation, &refused);

    if (status != SANDLOT_OK || !refused)
        return status;
    AUTO_FREE char *id = NULL;

    status = snapshot_find_or_build(call, sandbox->api, creation->snapshot_name, &id);
    if (status != SANDLOT_OK)
        return status;
    creation->snapshot_id = id;
    creation->snapshot_name = NULL;
    return ask(call, sandbox, creation, &refused);
}

static enum sandlot_status create_new(struct sandlot_call *call, struct sandbox *sandbox,
                                      const struct sandlot_create *request)
{
    struct api *api = sandbox->api;
    struct creation creation = {.request = request, .name = sandbox->name};
    enum sandlot_status status = policy_check(call, api, network_asked(request));

    if (status == SANDLOT_OK)
        status = creation_check(call, &api->parameters, &creation);
    if (status == SANDLOT_OK) {
        choose_snapshot(call, &api->parameters, &creation);
        status = create(call, sandbox, &creation);
    }
    creation_clear(&creation);
    return status;
}

enum sandlot_status sandbox_get_or_create(struct sandlot_call *call, void *provider,
                                          const struct sandlot_create *request, void **handle)
{
    const char *id = request->sandbox_id;
    bool prefixed = id || strncmp(request->run_label, NAME_PREFIX, strlen(NAME_PREFIX)) == 0;
    struct sandbox *sandbox =
        sandbox_new(provider, text_format("%s%s", prefixed ? "" : NAME_PREFIX, id ? id : request->run_label));

    if (!sandbox)
        return no_memory(call);
    enum sandlot_status status = id ? look(call, sandbox) : create_new(call, sandbox, request);

    if (status == SANDLOT_OK)
        *handle = sandbox;
    else
        sandbox_release(provider, sandbox);
    return status;
}

enum sandlot_status sandbox_ready(struct sandlot_call *call, void *provider, void *handle)
{
    struct sandbox *sandbox = handle;
    char state[STATE_SIZE];

    (void)provider;
    if (sandbox->ready)
        return SANDLOT_OK;
    enum sandlot_status status = sandbox_state(call, sandbox->api, sandbox->name, state);

    if (status != SANDLOT_OK)
        return status;
    if (!is_state(state, "ready"))
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "the sandbox '%s' is %s", sandbox->name, state);
    if (!sandbox->address)
        return look(call, sandbox);
    sandbox->ready = true;
    return SANDLOT_OK;
}

/* ---- stopping, starting, deleting -------------------------------------------------------------------------------- */

static enum sandlot_status out_of_time(struct sandlot_call *call, const char *name, const char *doing)
{
    if (sandlot_cancelled(call))
        return sandlot_fail(call, SANDLOT_CANCELLED, "cancelled while LangSmith was to %s the sandbox '%s'", doing,
                            name);
    return sandlot_fail(call, SANDLOT_TIMEOUT, "LangSmith did not %s the sandbox '%s' in time; try again", doing, name);
}

enum sandlot_status sandbox_delete(struct sandlot_call *call, void *api, const char *name)
{
    static const int expected[] = {404, 409, 423, 0};
    bool doubted = false;

    for (int pause_ms = FIRST_PAUSE_MS;; pause_ms = pause_ms * 2 < LONGEST_PAUSE_MS ? pause_ms * 2 : LONGEST_PAUSE_MS) {
        AUTO_ANSWER struct api_answer answer = {0};
        struct api_request request = {
            .method = "DELETE", .target = http_target("/boxes/{}", name), .expected = expected};
        enum sandlot_status status = api_send(call, api, &request, &answer);

        /* Success has no body. What has one may be of somebody on the way; the next answer is that it is not there. */
        bool doubtful = answer.status < 300 && answer.response.length > 0;

        if (status != SANDLOT_OK || answer.status == 404 || (answer.status < 300 && !doubtful))
            return status;
        if (doubtful && doubted)
            return api_want_document(call, &answer, "LangSmith's answer to a deletion");
        doubted = doubtful;
        /* It is between two states, which does not last. */
        if (!pause_for(call, pause_ms))
            return sandlot_cancelled(call) ? out_of_time(call, name, "delete")
                                           : api_refuse(call, &answer, "to delete the sandbox");
    }
}

static enum sandlot_status wait_for(struct sandlot_call *call, struct api *api, const char *name, const char *wanted,
                                    const char *doing)
{
    for (int pause_ms = FIRST_PAUSE_MS;; pause_ms = pause_ms * 2 < LONGEST_PAUSE_MS ? pause_ms * 2 : LONGEST_PAUSE_MS) {
        char state[STATE_SIZE];
        enum sandlot_status status = sandbox_state(call, api, name, state);

        if (status != SANDLOT_OK || is_state(state, wanted))
            return status;
        if (!pause_for(call, pause_ms))
            return out_of_time(call, name, doing);
    }
}

/* Has LangSmith `start` or `stop` (DOING) the sandbox and waits until it is in the state WANTED. Neither may be sent to
 * a sandbox that is in that state already, so a refusal is looked into. */
static enum sandlot_status change_state(struct sandlot_call *call, struct api *api, const char *name, const char *doing,
                                        const char *wanted)
{
    static const int expected[] = {400, 404, 409, 0};
    AUTO_ANSWER struct api_answer answer = {0};
    struct json_builder body = {0};
    const struct api_request request = {
        .method = "POST", .target = http_target("/boxes/{}/{}", name, doing), .body = &body, .expected = expected};
    enum sandlot_status status = api_send(call, api, &request, &answer);
    bool lost = status == SANDLOT_UNAVAILABLE && answer.status == 0;
    char state[STATE_SIZE];

    if (status != SANDLOT_OK && !lost)
        return status;
    if (answer.status == 404)
        return sandbox_not_there(call, name);
    if (answer.status == 204)
        return SANDLOT_OK;
    if (lost || answer.status >= 300) {
        enum sandlot_status looked = sandbox_state(call, api, name, state);

        if (looked != SANDLOT_OK || is_state(state, wanted))
            return looked;
        if (!is_state(state, "provisioning"))
            return lost ? status
                        : api_refuse(call, &answer,
                                     is_state(wanted, "ready") ? "to start the sandbox" : "to stop the sandbox");
    }
    return wait_for(call, api, name, wanted, doing);
}

enum sandlot_status sandbox_stop(struct sandlot_call *call, void *api, const char *name)
{
    return change_state(call, api, name, "stop", "stopped");
}

enum sandlot_status sandbox_start(struct sandlot_call *call, void *api, const char *name)
{
    return change_state(call, api, name, "start", "ready");
}

enum sandlot_status sandbox_wake(struct sandlot_call *call, struct sandbox *sandbox)
{
    char state[STATE_SIZE];
    int64_t seen_ms = sandbox->awake_at_ms;

    if (seen_ms != 0 && sandlot_now_ms() - seen_ms < AWAKE_MS)
        return SANDLOT_OK;
    enum sandlot_status status = sandbox_state(call, sandbox->api, sandbox->name, state);

    if (status != SANDLOT_OK)
        return status;
    if (is_state(state, "provisioning"))
        status = wait_for(call, sandbox->api, sandbox->name, "ready", "start");
    else if (!is_state(state, "ready"))
        status = sandbox_start(call, sandbox->api, sandbox->name);
    if (status == SANDLOT_OK)
        sandbox_seen_awake(sandbox);
    return status;
}

/* ---- listing ---------------------------------------------------------------------------------------------------- */

static enum sandlot_status add(struct sandlot_call *call, const struct sandlot_listing *listing,
                               struct json_object *document)
{
    struct sandlot_listed listed = {.size = sizeof(listed), .state = "unknown"};
    const char *created = NULL;
    struct json_error error;

    if (!json_read_string(document, "name", &listed.id, &error))
        return json_fail(call, "LangSmith's list of sandboxes", &error);
    json_find_string(document, "status", &listed.state, NULL);
    if (is_state(listed.state, "stopped"))
        listed.state = "paused";
    json_find_string(document, "created_at", &created, NULL);
    json_find_string(document, "labels.\"" RUN_LABEL "\"", &listed.run_label, NULL);
    /* A server without labels still knows the name, which is the label. */
    if (!listed.run_label && !json_object_object_get_ex(document, "labels", NULL) &&
        strncmp(listed.id, NAME_PREFIX, strlen(NAME_PREFIX)) == 0)
        listed.run_label = listed.id;
    listed.created_at_ms = timestamp_read(created);
    return listing->add(listing, &listed);
}

enum sandlot_status sandbox_list(struct sandlot_call *call, void *api, const char *cursor,
                                 const struct sandlot_listing *listing)
{
    return api_list(call, api, "boxes", "sandboxes", cursor, listing, add);
}

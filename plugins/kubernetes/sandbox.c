#include "sandbox.h"

#include "allow.h"
#include "claim.h"
#include "pod.h"
#include "policy.h"
#include "watch.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/linger.h>
#include <sandlot/sdk/remote_command.h>
#include <sandlot/sdk/timestamp.h>

#include <stdlib.h>
#include <string.h>

enum { WINDOW_MS = 20 * 1000, LOOK_MS = 10 * 1000 };

/* ---- handles ----------------------------------------------------------------------------------------------------- */

bool sandbox_is_claim(const char *id, const char **name)
{
    bool claim = strncmp(id, CLAIM_PREFIX, strlen(CLAIM_PREFIX)) == 0;

    *name = claim ? id + strlen(CLAIM_PREFIX) : strncmp(id, "pod/", 4) == 0 ? id + 4 : id;
    return claim;
}

void sandbox_release(void *provider, void *handle)
{
    struct sandbox *sandbox = handle;

    (void)provider;
    if (!sandbox)
        return;
    free(sandbox->name);
    free(sandbox->version);
    free(sandbox->box);
    free(sandbox->pod);
    pthread_mutex_destroy(&sandbox->lock);
    free(sandbox);
}

/* OBJECT: what was seen of it, or NULL. */
static enum sandlot_status open_handle(struct sandlot_call *call, struct kubernetes *kubernetes, const char *name,
                                       bool claim, const struct sandlot_create *request, struct json_object *object,
                                       struct sandbox **made)
{
    struct sandbox *sandbox = calloc(1, sizeof(*sandbox));
    const char *version = object ? api_text(object, "metadata.resourceVersion") : NULL;

    if (!sandbox)
        return http_no_memory(call);
    sandbox->kubernetes = kubernetes;
    pthread_mutex_init(&sandbox->lock, NULL);
    sandbox->claim = claim;
    sandbox->attached = request->sandbox_id != NULL;
    sandbox->idle_ms = request->idle_ttl_ms;
    sandbox->last_ms = request->hard_ttl_ms > 0 ? timestamp_now() + request->hard_ttl_ms : 0;
    sandbox->renew_ms = sandlot_now_ms() + (request->idle_ttl_ms > 0 ? request->idle_ttl_ms : 3600 * 1000) / 2;
    sandbox->name = strdup(name);
    sandbox->version = version ? strdup(version) : NULL;
    sandbox->pod = claim ? NULL : strdup(name);
    if (sandbox->name && (!version || sandbox->version) && (claim || sandbox->pod)) {
        *made = sandbox;
        return SANDLOT_OK;
    }
    sandbox_release(kubernetes, sandbox);
    return http_no_memory(call);
}

/* ---- making a pod ------------------------------------------------------------------------------------------------ */

/* Its version is not kept: it may be ready already, and a watch from there would never say so. */
static enum sandlot_status find_pod(struct sandlot_call *call, struct kubernetes *kubernetes,
                                    const struct sandlot_create *request, const char *name, struct json_object **pod)
{
    struct json_object *metadata = NULL;
    struct api_request get = {.method = "GET", .target = api_path(kubernetes, NULL, "pods", name)};
    enum sandlot_status status = api_send(call, kubernetes, &get, NULL, pod);
    const char *label = status == SANDLOT_OK ? api_text(*pod, "metadata.labels.\"" POD_RUN_KEY "\"") : NULL;

    if (status == SANDLOT_OK && json_find_object(*pod, "metadata", &metadata, NULL) && metadata)
        json_object_object_del(metadata, "resourceVersion");
    if (status != SANDLOT_OK || (label && strcmp(label, request->run_label) == 0))
        return status;
    return sandlot_fail(call, SANDLOT_UNAVAILABLE, "there is a pod %.63s of somebody else's; try again", name);
}

static enum sandlot_status create_pod(struct sandlot_call *call, struct kubernetes *kubernetes,
                                      const struct sandlot_create *request, const char *name, struct json_object **pod)
{
    static const int exists[] = {409, 0};
    struct parameters parameters = kubernetes->access.parameters;
    AUTO_RESPONSE struct http_response response = {0};
    struct json_builder body = {0};

    parameters.network = policy_word(&parameters, network_asked(request));
    enum sandlot_status status = pod_describe(call, &parameters, request, name, &body);

    if (status == SANDLOT_OK && strcmp(parameters.network, "none") == 0)
        status = policy_ensure(call, kubernetes);
    if (status != SANDLOT_OK) {
        json_object_put(body.root);
        return status;
    }
    struct api_request post = {
        .method = "POST", .target = api_path(kubernetes, NULL, "pods", NULL), .body = &body, .accepted = exists};

    status = api_send(call, kubernetes, &post, &response, pod);
    return status == SANDLOT_OK && response.status == 409 ? find_pod(call, kubernetes, request, name, pod) : status;
}

/* ---- which engine ------------------------------------------------------------------------------------------------ */

static enum sandlot_status check_words(struct sandlot_call *call, const struct parameters *parameters)
{
    const char *engine = parameters->engine;
    const char *network = parameters->network;

    if (strcmp(engine, "auto") != 0 && strcmp(engine, "pods") != 0 && strcmp(engine, "agent-sandbox") != 0)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "engine is '%.60s'; write pods, agent-sandbox or auto",
                            engine);
    if (strcmp(network, "none") != 0 && strcmp(network, "open") != 0)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "network is '%.60s'; write none or open", network);
    return *parameters->working_dir == '/'
               ? SANDLOT_OK
               : sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "working_dir is '%.100s'; write an absolute path",
                              parameters->working_dir);
}

/* Who asks for a policy gets a pod: a claim cannot have one. */
static enum sandlot_status choose(struct sandlot_call *call, struct kubernetes *kubernetes,
                                  const struct sandlot_network *network, bool *claim)
{
    const char *engine = kubernetes->access.parameters.engine;
    enum sandlot_status status = check_words(call, &kubernetes->access.parameters);

    if (status == SANDLOT_OK)
        status = policy_check(call, &kubernetes->access.parameters, network);

    *claim = strcmp(engine, "agent-sandbox") == 0;
    return status == SANDLOT_OK && !network && strcmp(engine, "auto") == 0 ? claim_is_offered(call, kubernetes, claim)
                                                                           : status;
}

/* An answer that comes after Ctrl-C still tells what has to be deleted. */
static enum sandlot_status make(struct sandlot_call *call, struct kubernetes *kubernetes,
                                const struct sandlot_create *request, bool claim, const char *name,
                                struct json_object **object)
{
    struct attempt attempt;
    struct linger linger;

    attempt_begin(&attempt, call, 0);
    linger_begin(&linger, &attempt.call);
    enum sandlot_status status = claim ? claim_create(&attempt.call, kubernetes, request, name, object)
                                       : create_pod(&attempt.call, kubernetes, request, name, object);

    linger_end(&linger);
    return status == SANDLOT_OK ? status : attempt_fail(&attempt, status);
}

static enum sandlot_status create(struct sandlot_call *call, struct kubernetes *kubernetes,
                                  const struct sandlot_create *request, struct sandbox **made)
{
    AUTO_DOCUMENT struct json_object *object = NULL;
    char name[64];
    char id[sizeof(name) + sizeof(CLAIM_PREFIX)];
    const struct sandlot_network *network = network_asked(request);
    bool claim = false;
    enum sandlot_status status = choose(call, kubernetes, network, &claim);

    pod_name(request->run_label, name);
    if (status == SANDLOT_OK)
        status = make(call, kubernetes, request, claim, name, &object);
    if (status != SANDLOT_OK)
        return status;
    snprintf(id, sizeof(id), "%s%s", claim ? CLAIM_PREFIX : "", name);
    call->host->created(call, id, kubernetes->access.parameters.working_dir);
    if (network && network->mode == SANDLOT_NETWORK_ALLOW)
        status = allow_make(call, kubernetes, network, object);
    return status == SANDLOT_OK ? open_handle(call, kubernetes, name, claim, request, object, made) : status;
}

/* Somebody else's may be attached to as well, so no label is looked at. */
static enum sandlot_status look_for_pod(struct sandlot_call *call, struct kubernetes *kubernetes, const char *name)
{
    AUTO_DOCUMENT struct json_object *pod = NULL;
    char reason[400];

    if (!api_is_name(name))
        return sandlot_fail(call, SANDLOT_NOT_FOUND, "'%.100s' is no name of a pod; sandlot list shows what is there",
                            name);
    struct api_request get = {.method = "GET", .target = api_path(kubernetes, NULL, "pods", name)};
    enum sandlot_status status = api_send(call, kubernetes, &get, NULL, &pod);

    if (status != SANDLOT_OK || !pod_has_ended(pod))
        return status;
    pod_read(pod, reason, sizeof(reason));
    return sandlot_fail(call, SANDLOT_NOT_FOUND, "the pod %.63s has ended (%s); sandlot list shows what is there", name,
                        reason);
}

/* A claim's end is put off, and that tells what it has. */
static enum sandlot_status attach(struct sandlot_call *call, struct kubernetes *kubernetes,
                                  const struct sandlot_create *request, struct sandbox **made)
{
    const char *name;
    bool claim = sandbox_is_claim(request->sandbox_id, &name);
    struct sandbox *sandbox = NULL;
    enum sandlot_status status = open_handle(call, kubernetes, name, claim, request, NULL, &sandbox);

    if (status == SANDLOT_OK)
        status = claim ? claim_renew(call, sandbox) : look_for_pod(call, kubernetes, name);
    if (status != SANDLOT_OK) {
        sandbox_release(kubernetes, sandbox);
        return status;
    }
    call->host->created(call, request->sandbox_id, kubernetes->access.parameters.working_dir);
    *made = sandbox;
    return SANDLOT_OK;
}

enum sandlot_status sandbox_get_or_create(struct sandlot_call *call, void *provider,
                                          const struct sandlot_create *request, void **handle)
{
    struct kubernetes *kubernetes = provider;
    struct sandbox *sandbox = NULL;
    enum sandlot_status status = access_settle(call, &kubernetes->access);

    if (status == SANDLOT_OK)
        status = request->sandbox_id ? attach(call, kubernetes, request, &sandbox)
                                     : create(call, kubernetes, request, &sandbox);
    *handle = sandbox;
    return status;
}

/* ---- readiness --------------------------------------------------------------------------------------------------- */

/* REASON of 400 bytes: why not yet. */
static enum sandlot_status judge_pod(struct sandlot_call *call, void *context, struct json_object *pod)
{
    char *reason = context;

    switch (pod_read(pod, reason, 400)) {
    case POD_READY:
        return SANDLOT_OK;
    case POD_ENDED:
        return sandlot_fail(
            call, SANDLOT_INVALID_ARGUMENT,
            "the pod of the sandbox does not run: %s; check image, limits and the quota of the namespace", reason);
    case POD_STARTING:
    default:
        return SANDLOT_UNAVAILABLE;
    }
}

static enum sandlot_status watch_pod(struct sandlot_call *call, struct sandbox *sandbox)
{
    char reason[400] = "nothing is known of it";
    struct watch watch = {.kubernetes = sandbox->kubernetes,
                          .plural = "pods",
                          .name = sandbox->name,
                          .version = &sandbox->version,
                          .judge = judge_pod,
                          .context = reason};
    bool pending = false;
    enum sandlot_status status = watch_object(call, &watch, WINDOW_MS, &pending);

    return pending ? sandlot_fail(call, SANDLOT_UNAVAILABLE, "the pod %.63s is not ready yet (%s); wait a little",
                                  sandbox->name, reason)
                   : status;
}

/* What was attached to is asked when it is used: it was ready before. */
enum sandlot_status sandbox_ready(struct sandlot_call *call, void *provider, void *handle)
{
    struct sandbox *sandbox = handle;

    (void)provider;
    if (sandbox->claim)
        return sandbox->box ? SANDLOT_OK : claim_watch(call, sandbox, WINDOW_MS);
    return sandbox->attached ? SANDLOT_OK : watch_pod(call, sandbox);
}

/* ---- programs in it ---------------------------------------------------------------------------------------------- */

/* The container: ours has a name, and somebody's sidecars may be beside it. */
static const char *container_of(const struct sandbox *sandbox)
{
    const char *own = sandbox->kubernetes->access.parameters.container;

    if (own && *own)
        return own;
    return !sandbox->claim && strncmp(sandbox->name, "sandlot-", 8) == 0 ? POD_CONTAINER : NULL;
}

static char *pod_of(struct sandbox *sandbox)
{
    pthread_mutex_lock(&sandbox->lock);
    char *pod = sandbox->pod ? strdup(sandbox->pod) : NULL;

    pthread_mutex_unlock(&sandbox->lock);
    return pod;
}

/* That this fails shows soon enough. */
void sandbox_use(struct sandlot_call *call, struct sandbox *sandbox)
{
    struct attempt attempt;

    pthread_mutex_lock(&sandbox->lock);
    bool due = sandbox->claim && sandlot_now_ms() >= sandbox->renew_ms;

    if (due)
        sandbox->renew_ms = sandlot_now_ms() + 10 * 1000; /* nobody else at the same time */
    pthread_mutex_unlock(&sandbox->lock);
    if (!due)
        return;
    attempt_begin(&attempt, call, 5000);
    if (claim_renew(&attempt.call, sandbox) != SANDLOT_OK)
        call->host->log(call, SANDLOT_LOG_WARNING, attempt.reason);
}

static enum sandlot_status start(struct sandlot_call *call, struct sandbox *sandbox, const char *const *words,
                                 bool input, bool terminal, struct exec *exec)
{
    AUTO_FREE char *pod = pod_of(sandbox);
    const struct exec_order order = {
        .pod = pod, .container = container_of(sandbox), .words = words, .input = input, .terminal = terminal};

    if (!pod)
        return sandlot_fail(call, SANDLOT_NOT_FOUND, "the sandbox %.63s has no pod; try again", sandbox->name);
    return exec_open(call, sandbox->kubernetes, &order, exec);
}

enum sandlot_status sandbox_exec(struct sandlot_call *call, struct sandbox *sandbox, const char *const *words,
                                 bool input, bool terminal, struct exec *exec)
{
    struct attempt attempt;

    sandbox_use(call, sandbox);
    attempt_begin(&attempt, call, 0);
    enum sandlot_status status = start(&attempt.call, sandbox, words, input, terminal, exec);

    if (status == SANDLOT_NOT_FOUND && sandbox->claim) {
        status = claim_find_pod(call, sandbox);
        return status == SANDLOT_OK ? start(call, sandbox, words, input, terminal, exec) : status;
    }
    return status == SANDLOT_OK ? status : attempt_fail(&attempt, status);
}

/* Renewed at half of its time of rest, a claim must not be looked after too seldom for that. */
static int64_t look_ms(struct sandbox *sandbox)
{
    pthread_mutex_lock(&sandbox->lock);
    int64_t idle_ms = sandbox->idle_ms;

    pthread_mutex_unlock(&sandbox->lock);
    return idle_ms > 0 && idle_ms / 4 < LOOK_MS ? idle_ms / 4 : LOOK_MS;
}

enum sandlot_status sandbox_take(struct sandlot_call *call, struct sandbox *sandbox, struct exec *exec, int wake_fd,
                                 const struct sandlot_sink *output, bool *over)
{
    struct attempt attempt;

    attempt_begin(&attempt, call, look_ms(sandbox));
    enum sandlot_status status = exec_take(&attempt.call, exec, wake_fd, output, over);
    bool quiet = status == SANDLOT_TIMEOUT && sandlot_remaining_ms(call, 1) > 0;

    if (status != SANDLOT_OK && !quiet)
        return *attempt.reason ? attempt_fail(&attempt, status) : status;
    if (!*over)
        sandbox_use(call, sandbox);
    return quiet ? exec_ping(call, exec) : SANDLOT_OK;
}

enum sandlot_status sandbox_finish(struct sandlot_call *call, struct sandbox *sandbox, struct exec *exec,
                                   const struct sandlot_sink *output)
{
    bool over = false;
    enum sandlot_status status = SANDLOT_OK;

    while (status == SANDLOT_OK && !over && !exec->ended)
        status = sandbox_take(call, sandbox, exec, -1, output, &over);
    return status == SANDLOT_OK && !over ? exec_finish(call, exec, output) : status;
}

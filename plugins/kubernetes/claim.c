#include "claim.h"

#include "pod.h"
#include "watch.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/pause.h>
#include <sandlot/sdk/timestamp.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define POOL_PLURAL "sandboxwarmpools"
#define BOX_GROUP "agents.x-k8s.io/v1beta1"
#define BOX_PLURAL "sandboxes"
#define POD_NAME "agents.x-k8s.io/pod-name"

/* Annotations of a claim, for who attaches to it: its time of rest in seconds, and the end that no use puts off. */
#define IDLE_KEY "sandlot-ttl"
#define LAST_KEY "sandlot-end"

enum {
    SECOND_MS = 1000,
    HOUR_MS = 3600 * SECOND_MS,
    HEALING_MS = 5 * SECOND_MS, /* what is missing may be about to be made */
    WAKE_MS = 180 * SECOND_MS
};

/* ---- times ------------------------------------------------------------------------------------------------------- */

static void write_time(int64_t utc_ms, char text[32])
{
    time_t seconds = (time_t)(utc_ms / SECOND_MS);
    struct tm parts;

    gmtime_r(&seconds, &parts);
    strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

/* When a claim ends that is used now. LAST_MS: when it ends in any case, 0 for never. */
static void write_end(int64_t idle_ms, int64_t last_ms, char text[32])
{
    int64_t end_ms = timestamp_now() + idle_ms;

    write_time(last_ms > 0 && last_ms < end_ms ? last_ms : end_ms, text);
}

static int64_t rest_ms(const struct sandbox *sandbox)
{
    return sandbox->idle_ms > 0 ? sandbox->idle_ms : HOUR_MS;
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

enum sandlot_status claim_is_offered(struct sandlot_call *call, struct kubernetes *kubernetes, bool *offered)
{
    static const int refusals[] = {403, 404, 0};
    AUTO_DOCUMENT struct json_object *pool = NULL;
    struct api_request request = {
        .method = "GET",
        .target = api_path(kubernetes, CLAIM_GROUP, POOL_PLURAL, kubernetes->access.parameters.pool),
        .accepted = refusals};
    enum sandlot_status status = api_send(call, kubernetes, &request, NULL, &pool);

    *offered = status == SANDLOT_OK && pool;
    return status;
}

static enum sandlot_status describe(struct sandlot_call *call, const struct parameters *parameters,
                                    const struct sandlot_create *request, const char *name, struct json_builder *body)
{
    char end[32];
    char text[32];
    int64_t idle_ms = request->idle_ttl_ms > 0 ? request->idle_ttl_ms : HOUR_MS;
    int64_t last_ms = request->hard_ttl_ms > 0 ? timestamp_now() + request->hard_ttl_ms : 0;

    write_end(idle_ms, last_ms, end);
    snprintf(text, sizeof(text), "%lld", (long long)(idle_ms / SECOND_MS));
    json_set_member(body, "metadata.annotations", IDLE_KEY, text);
    write_time(last_ms, text);
    if (last_ms > 0)
        json_set_member(body, "metadata.annotations", LAST_KEY, text);
    json_set_string(body, "apiVersion", CLAIM_GROUP);
    json_set_string(body, "kind", "SandboxClaim");
    json_set_string(body, "metadata.name", name);
    json_set_string(body, "spec.warmPoolRef.name", parameters->pool);
    json_set_string(body, "spec.lifecycle.shutdownTime", end);
    json_set_string(body, "spec.lifecycle.shutdownPolicy", "Delete");
    json_set_member(body, "spec.additionalPodMetadata.labels", POD_RUN_KEY, request->run_label);
    return pod_set_labels(call, parameters, request, body);
}

/* The claim that is there already is ours if it has our label. */
static enum sandlot_status find_ours(struct sandlot_call *call, struct kubernetes *kubernetes,
                                     const struct sandlot_create *request, const char *name)
{
    AUTO_DOCUMENT struct json_object *claim = NULL;
    struct api_request get = {.method = "GET", .target = api_path(kubernetes, CLAIM_GROUP, CLAIM_PLURAL, name)};
    enum sandlot_status status = api_send(call, kubernetes, &get, NULL, &claim);
    const char *label = status == SANDLOT_OK ? api_text(claim, "metadata.labels.\"" POD_RUN_KEY "\"") : NULL;

    if (status != SANDLOT_OK || (label && strcmp(label, request->run_label) == 0))
        return status;
    return sandlot_fail(call, SANDLOT_UNAVAILABLE, "there is a SandboxClaim %.63s of somebody else's; try again", name);
}

enum sandlot_status claim_create(struct sandlot_call *call, struct kubernetes *kubernetes,
                                 const struct sandlot_create *request, const char *name, struct json_object **object)
{
    static const int refusals[] = {404, 409, 0};
    AUTO_RESPONSE struct http_response response = {0};
    struct json_builder body = {0};
    enum sandlot_status status = describe(call, &kubernetes->access.parameters, request, name, &body);
    struct api_request post = {.method = "POST",
                               .target = api_path(kubernetes, CLAIM_GROUP, CLAIM_PLURAL, NULL),
                               .body = &body,
                               .accepted = refusals};

    *object = NULL;
    if (status != SANDLOT_OK) {
        json_object_put(body.root);
        free(post.target);
        return status;
    }
    status = api_send(call, kubernetes, &post, &response, object);
    if (status == SANDLOT_OK && response.status == 404)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "this cluster has no " CLAIM_GROUP
                            ", or no namespace %.63s: install agent-sandbox with its "
                            "extensions (v0.5 or later), or set engine = \"pods\"",
                            access_namespace(&kubernetes->access));
    return status == SANDLOT_OK && response.status == 409 ? find_ours(call, kubernetes, request, name) : status;
}

/* ---- what it has got --------------------------------------------------------------------------------------------- */

/* The claim's or Sandbox's condition TYPE, as of what is wanted of it now; NULL: there is none yet. */
static struct json_object *find_condition(struct json_object *object, const char *type)
{
    struct json_object *conditions = NULL;
    int64_t generation = 0;

    json_find_array(object, "status.conditions", &conditions, NULL);
    json_find_integer(object, "metadata.generation", &generation, NULL);
    for (size_t i = 0; conditions && i < json_object_array_length(conditions); i++) {
        struct json_object *condition = json_object_array_get_idx(conditions, i);
        const char *own = json_object_is_type(condition, json_type_object) ? api_text(condition, "type") : NULL;
        int64_t observed = generation;

        if (!own || strcmp(type, own) != 0)
            continue;
        json_find_integer(condition, "observedGeneration", &observed, NULL);
        return observed >= generation ? condition : NULL;
    }
    return NULL;
}

static bool condition_is(struct json_object *object, const char *type, const char *value)
{
    struct json_object *condition = find_condition(object, type);
    const char *own = condition ? api_text(condition, "status") : NULL;

    return own && strcmp(own, value) == 0;
}

const char *claim_state(struct json_object *claim)
{
    struct json_object *condition = find_condition(claim, "Ready");
    const char *reason = condition ? api_text(condition, "reason") : NULL;

    if (!api_text(claim, "status.sandbox.name"))
        return "pending";
    return reason && strcmp(reason, "SandboxSuspended") == 0 ? "paused" : "running";
}

/* Takes over the Sandbox and its pod, which mostly has the same name. */
static bool take_box(struct sandbox *sandbox, const char *box)
{
    char *copy = box ? strdup(box) : NULL;
    char *pod = box ? strdup(box) : NULL;

    if (!copy || !pod) {
        free(copy);
        free(pod);
        return false;
    }
    pthread_mutex_lock(&sandbox->lock);
    free(sandbox->box);
    free(sandbox->pod);
    sandbox->box = copy;
    sandbox->pod = pod;
    pthread_mutex_unlock(&sandbox->lock);
    return true;
}

struct judgement {
    struct sandbox *sandbox;
    char reason[400];
    bool missing; /* a pool or template, which may be about to be made */
};

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return false;
}

static enum sandlot_status judge_claim(struct sandlot_call *call, void *context, struct json_object *claim)
{
    static const char *const final[] = {"InvalidMetadata",
                                        "EnvVarsInjectionRejected",
                                        "VolumeClaimTemplatesError",
                                        "ClaimExpired",
                                        "SandboxExpired",
                                        "MultiplePods",
                                        "PodFailed",
                                        "PodSucceeded",
                                        NULL};
    static const char *const healing[] = {"TemplateNotFound", "WarmPoolNotFound", NULL};
    struct judgement *judgement = context;
    struct json_object *condition = find_condition(claim, "Ready");
    const char *word = condition ? api_text(condition, "reason") : NULL;
    const char *message = condition ? api_text(condition, "message") : NULL;
    const char *box = api_text(claim, "status.sandbox.name");

    word = word ? word : "no sandbox yet";
    snprintf(judgement->reason, sizeof(judgement->reason), "%.60s%s%.300s", word, message ? ": " : "",
             message ? message : "");
    judgement->missing = is_one_of(word, healing);
    if (box && condition_is(claim, "Ready", "True"))
        return take_box(judgement->sandbox, box) ? SANDLOT_OK : http_no_memory(call);
    if (!is_one_of(word, final) && !api_text(claim, "metadata.deletionTimestamp"))
        return SANDLOT_UNAVAILABLE;
    return sandlot_fail(call, SANDLOT_NOT_FOUND,
                        "the SandboxClaim %.63s got no sandbox: %s; make another, or correct the pool",
                        judgement->sandbox->name, judgement->reason);
}

static void tell_launch(struct sandlot_call *call, struct sandbox *sandbox)
{
    char line[192];

    snprintf(
        line, sizeof(line), "the claim %.63s has the Sandbox %.63s%s", sandbox->name, sandbox->box ? sandbox->box : "",
        sandbox->box && strcmp(sandbox->box, sandbox->name) != 0 ? ", warm from the pool" : ", made for it (cold)");
    call->host->log(call, SANDLOT_LOG_INFO, line);
}

enum sandlot_status claim_watch(struct sandlot_call *call, struct sandbox *sandbox, int window_ms)
{
    struct judgement judgement = {.sandbox = sandbox};
    struct watch watch = {.kubernetes = sandbox->kubernetes,
                          .group = CLAIM_GROUP,
                          .plural = CLAIM_PLURAL,
                          .name = sandbox->name,
                          .version = &sandbox->version,
                          .judge = judge_claim,
                          .context = &judgement};
    bool pending = false;
    enum sandlot_status status = watch_object(call, &watch, window_ms < HEALING_MS ? window_ms : HEALING_MS, &pending);

    if (pending && judgement.missing)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "agent-sandbox has no such pool or template (%s); check the parameter pool",
                            judgement.reason);
    if (pending && window_ms > HEALING_MS)
        status = watch_object(call, &watch, window_ms - HEALING_MS, &pending);
    if (status == SANDLOT_OK)
        tell_launch(call, sandbox);
    if (!pending)
        return status;
    return sandlot_fail(call, SANDLOT_UNAVAILABLE,
                        "the SandboxClaim %.63s has no sandbox that is ready yet (%s); wait a little", sandbox->name,
                        judgement.reason);
}

static enum sandlot_status put_off(struct sandlot_call *call, struct sandbox *sandbox, struct json_object **claim)
{
    struct json_builder body = {0};
    char end[32];
    struct api_request patch = {.method = "PATCH",
                                .target = api_path(sandbox->kubernetes, CLAIM_GROUP, CLAIM_PLURAL, sandbox->name),
                                .body = &body,
                                .type = "application/merge-patch+json"};

    pthread_mutex_lock(&sandbox->lock);
    write_end(rest_ms(sandbox), sandbox->last_ms, end);
    pthread_mutex_unlock(&sandbox->lock);
    json_set_string(&body, "spec.lifecycle.shutdownTime", end);
    return api_send(call, sandbox->kubernetes, &patch, NULL, claim);
}

/* What was wanted of a claim when it was made. True: it is not what has just been written. */
static bool learn(struct sandbox *sandbox, struct json_object *claim)
{
    const char *idle = api_text(claim, "metadata.annotations.\"" IDLE_KEY "\"");
    int64_t idle_s = idle ? strtoll(idle, NULL, 10) : 0;
    int64_t before_ms = rest_ms(sandbox);

    sandbox->idle_ms = idle_s > 0 && idle_s < INT32_MAX ? idle_s * SECOND_MS : 0;
    sandbox->last_ms = timestamp_read(api_text(claim, "metadata.annotations.\"" LAST_KEY "\""));
    return rest_ms(sandbox) != before_ms ||
           (sandbox->last_ms > 0 && sandbox->last_ms < timestamp_now() + rest_ms(sandbox));
}

enum sandlot_status claim_renew(struct sandlot_call *call, struct sandbox *sandbox)
{
    AUTO_DOCUMENT struct json_object *claim = NULL;
    enum sandlot_status status = put_off(call, sandbox, &claim);
    const char *box = status == SANDLOT_OK ? api_text(claim, "status.sandbox.name") : NULL;

    if (status != SANDLOT_OK)
        return status;
    pthread_mutex_lock(&sandbox->lock);
    bool known = sandbox->box != NULL;
    bool wrong = sandbox->attached && !known && learn(sandbox, claim);

    sandbox->renew_ms = sandlot_now_ms() + rest_ms(sandbox) / 2;
    pthread_mutex_unlock(&sandbox->lock);
    if (wrong)
        status = put_off(call, sandbox, NULL);
    if (status != SANDLOT_OK)
        return status;
    return !box || known || take_box(sandbox, box) ? SANDLOT_OK : http_no_memory(call);
}

/* ---- the Sandbox ------------------------------------------------------------------------------------------------- */

/* Judges a Sandbox by a condition. */
struct change {
    const char *condition;
    char reason[200];
};

static enum sandlot_status judge_box(struct sandlot_call *call, void *context, struct json_object *box)
{
    struct change *change = context;
    struct json_object *condition = find_condition(box, change->condition);
    const char *word = condition ? api_text(condition, "reason") : NULL;

    snprintf(change->reason, sizeof(change->reason), "%.100s", word ? word : "nothing is known");
    if (condition_is(box, change->condition, "True"))
        return SANDLOT_OK;
    if (word && (strcmp(word, "MultiplePods") == 0 || strcmp(word, "SandboxExpired") == 0))
        return sandlot_fail(call, SANDLOT_NOT_FOUND, "the Sandbox cannot be used any more: %s", word);
    return SANDLOT_UNAVAILABLE;
}

/* Asks for another mode, and waits until it is so. */
static enum sandlot_status change_mode(struct sandlot_call *call, struct kubernetes *kubernetes, const char *box,
                                       const char *mode, const char *condition)
{
    AUTO_DOCUMENT struct json_object *object = NULL;
    AUTO_FREE char *version = NULL;
    struct json_builder body = {0};
    struct change change = {.condition = condition};
    bool pending = false;
    struct api_request patch = {.method = "PATCH",
                                .target = api_path(kubernetes, BOX_GROUP, BOX_PLURAL, box),
                                .body = &body,
                                .type = "application/merge-patch+json"};

    json_set_string(&body, "spec.operatingMode", mode);
    enum sandlot_status status = api_send(call, kubernetes, &patch, NULL, &object);

    if (status != SANDLOT_OK)
        return status;
    status = judge_box(call, &change, object);
    const char *seen = api_text(object, "metadata.resourceVersion");

    version = seen ? strdup(seen) : NULL;
    struct watch watch = {.kubernetes = kubernetes,
                          .group = BOX_GROUP,
                          .plural = BOX_PLURAL,
                          .name = box,
                          .version = &version,
                          .judge = judge_box,
                          .context = &change};

    if (status == SANDLOT_UNAVAILABLE)
        status = watch_object(call, &watch, sandlot_remaining_ms(call, WAKE_MS), &pending);
    return pending ? sandlot_fail(call, SANDLOT_UNAVAILABLE, "the Sandbox %.63s is not %s yet (%s); try again", box,
                                  mode, change.reason)
                   : status;
}

/* The Sandbox that claim NAME has, to be freed. */
static enum sandlot_status find_box(struct sandlot_call *call, struct kubernetes *kubernetes, const char *name,
                                    char **box)
{
    AUTO_DOCUMENT struct json_object *claim = NULL;
    struct api_request get = {.method = "GET", .target = api_path(kubernetes, CLAIM_GROUP, CLAIM_PLURAL, name)};
    enum sandlot_status status = api_send(call, kubernetes, &get, NULL, &claim);
    const char *text = status == SANDLOT_OK ? api_text(claim, "status.sandbox.name") : NULL;

    *box = text ? strdup(text) : NULL;
    if (status == SANDLOT_OK && !text)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "the SandboxClaim %.63s has no sandbox yet; wait a little",
                            name);
    return status == SANDLOT_OK && !*box ? http_no_memory(call) : status;
}

enum sandlot_status claim_pause(struct sandlot_call *call, struct kubernetes *kubernetes, const char *name)
{
    AUTO_FREE char *box = NULL;
    enum sandlot_status status = find_box(call, kubernetes, name, &box);

    return status == SANDLOT_OK ? change_mode(call, kubernetes, box, "Suspended", "Suspended") : status;
}

enum sandlot_status claim_resume(struct sandlot_call *call, struct kubernetes *kubernetes, const char *name)
{
    AUTO_FREE char *box = NULL;
    enum sandlot_status status = find_box(call, kubernetes, name, &box);

    return status == SANDLOT_OK ? change_mode(call, kubernetes, box, "Running", "Ready") : status;
}

/* ---- its pod ----------------------------------------------------------------------------------------------------- */

/* The Sandbox as it is; *BOX, to be freed, its name. What was known of the claim mostly still holds. */
static enum sandlot_status get_box(struct sandlot_call *call, struct sandbox *sandbox, char **box,
                                   struct json_object **object)
{
    static const int missing[] = {404, 0};

    pthread_mutex_lock(&sandbox->lock);
    *box = sandbox->box ? strdup(sandbox->box) : NULL;
    pthread_mutex_unlock(&sandbox->lock);
    for (bool anew = !*box;; anew = true) {
        enum sandlot_status status = SANDLOT_OK;

        if (anew) {
            free(*box);
            status = find_box(call, sandbox->kubernetes, sandbox->name, box);
        }
        if (status != SANDLOT_OK)
            return status;
        struct api_request get = {.method = "GET",
                                  .target = api_path(sandbox->kubernetes, BOX_GROUP, BOX_PLURAL, *box),
                                  .accepted = anew ? NULL : missing};

        status = api_send(call, sandbox->kubernetes, &get, NULL, object);
        if (status != SANDLOT_OK || *object)
            return status;
    }
}

enum sandlot_status claim_find_pod(struct sandlot_call *call, struct sandbox *sandbox)
{
    AUTO_DOCUMENT struct json_object *object = NULL;
    AUTO_FREE char *box = NULL;
    enum sandlot_status status = get_box(call, sandbox, &box, &object);
    const char *mode = status == SANDLOT_OK ? api_text(object, "spec.operatingMode") : NULL;
    const char *pod = status == SANDLOT_OK ? api_text(object, "metadata.annotations.\"" POD_NAME "\"") : NULL;

    if (status == SANDLOT_OK && mode && strcmp(mode, "Suspended") == 0) {
        pod = NULL; /* what is woken has the name of its Sandbox */
        status = change_mode(call, sandbox->kubernetes, box, "Running", "Ready");
    }
    if (status != SANDLOT_OK)
        return status;
    if (!take_box(sandbox, box))
        return http_no_memory(call);
    char *own = pod ? strdup(pod) : NULL;

    if (!own)
        return pod ? http_no_memory(call) : SANDLOT_OK;
    pthread_mutex_lock(&sandbox->lock);
    free(sandbox->pod);
    sandbox->pod = own;
    pthread_mutex_unlock(&sandbox->lock);
    return SANDLOT_OK;
}

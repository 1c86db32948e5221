#include "pod.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

enum { SECOND_MS = 1000, LABEL_MAXIMUM = 63, GRACE_S = 1 };

/* ---- the command that keeps it alive ----------------------------------------------------------------------------- */

/*
 * The container's first process waits for its end, which comes at once, unlike with `sleep`, which as the first process
 * ignores SIGTERM; it takes leave of processes that nobody waits for, as any shell does; and it ends itself when nobody
 * has used the sandbox for so many minutes, which no object of Kubernetes would. What has POD_CONNECTED among its
 * variables is a use as long as it runs.
 */
static char *make_keeper(int64_t idle_ms)
{
    int64_t minutes = (idle_ms + 60 * SECOND_MS - 1) / (60 * SECOND_MS);
    char *script = NULL;

    if (idle_ms <= 0)
        return strdup("trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done");
    return asprintf(&script,
                    "trap 'exit 0' TERM INT; f=" POD_USED "; : >\"$f\"\n"
                    "while :; do sleep 30 & wait $!\n"
                    "[ -e \"$f\" ] || : >\"$f\"\n"
                    "if [ \"$(find \"$f\" -mmin +%lld 2>/dev/null)\" ]; then\n"
                    "if grep -qs '" POD_CONNECTED "' /proc/[0-9]*/environ; then : >\"$f\"; else exit 0; fi; fi; done",
                    (long long)minutes) < 0
               ? NULL
               : script;
}

/* ---- names and labels -------------------------------------------------------------------------------------------- */

void pod_name(const char *run_label, char name[64])
{
    bool prefixed = strncmp(run_label, "sandlot-", 8) == 0;

    snprintf(name, 64, "%s%.50s", prefixed ? "" : "sandlot-", run_label);
}

static bool is_label_part(const char *text, size_t length, bool may_be_empty)
{
    if (length == 0)
        return may_be_empty;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && (!strchr("-_.", text[i]) || i == 0 || i == length - 1))
            return false;
    return length <= LABEL_MAXIMUM;
}

static bool is_label(const char *key, const char *value)
{
    const char *slash = strchr(key, '/');
    const char *name = slash ? slash + 1 : key;

    return is_label_part(name, strlen(name), false) && is_label_part(value, strlen(value), true) &&
           (!slash || (slash > key && slash - key < 254));
}

/* A key that can be none of an annotation either is left out. */
static void set_label(struct json_builder *body, const char *key, const char *value)
{
    if (is_label(key, value))
        json_set_member(body, "metadata.labels", key, value);
    else if (is_label(key, ""))
        json_set_member(body, "metadata.annotations", key, value);
}

enum sandlot_status pod_set_labels(struct sandlot_call *call, const struct parameters *parameters,
                                   const struct sandlot_create *request, struct json_builder *body)
{
    AUTO_DOCUMENT struct json_object *own = NULL;
    enum sandlot_status status = parameter_texts(call, "labels", parameters->labels, &own);

    if (status != SANDLOT_OK)
        return status;
    if (own) {
        json_object_object_foreach(own, key, value)
        {
            const char *text = json_object_get_string(value);

            if (!is_label(key, text))
                return sandlot_fail(
                    call, SANDLOT_INVALID_ARGUMENT,
                    "labels: '%.80s' with the value '%.80s' is no label for Kubernetes: at most 63 letters, "
                    "digits, '-', '_' and '.'; change it",
                    key, text);
            json_set_member(body, "metadata.labels", key, text);
        }
    }
    for (size_t i = 0; i < request->label_count; i++)
        set_label(body, request->labels[i].key, request->labels[i].value);
    json_set_member(body, "metadata.labels", POD_OWNER_KEY, POD_OWNER);
    json_set_member(body, "metadata.labels", POD_RUN_KEY, request->run_label);
    return SANDLOT_OK;
}

/* ---- the pod ----------------------------------------------------------------------------------------------------- */

static void set_walls(struct json_builder *body, const struct parameters *parameters)
{
    bool root = parameters->user == 0;

    json_set_boolean(body, "spec.automountServiceAccountToken", false);
    json_set_boolean(body, "spec.enableServiceLinks", false);
    json_set_boolean(body, "spec.securityContext.runAsNonRoot", !root);
    json_set_integer(body, "spec.securityContext.runAsUser", parameters->user);
    json_set_integer(body, "spec.securityContext.runAsGroup", parameters->user);
    json_set_integer(body, "spec.securityContext.fsGroup", parameters->user);
    json_set_string(body, "spec.securityContext.seccompProfile.type", "RuntimeDefault");
    json_set_boolean(body, "spec.containers[0].securityContext.allowPrivilegeEscalation", false);
    json_set_boolean(body, "spec.containers[0].securityContext.readOnlyRootFilesystem", parameters->read_only);
    json_set_string(body, "spec.containers[0].securityContext.capabilities.drop[]", "ALL");
}

static void set_limits(struct json_builder *body, const struct parameters *parameters)
{
    parameter_set_text(body, "spec.containers[0].resources.limits.cpu", parameters->cpu);
    parameter_set_text(body, "spec.containers[0].resources.limits.memory", parameters->memory);
    parameter_set_text(body, "spec.containers[0].resources.limits.ephemeral-storage", parameters->disk);
    parameter_set_text(body, "spec.containers[0].resources.requests.cpu", parameters->cpu_request);
    parameter_set_text(body, "spec.containers[0].resources.requests.memory", parameters->memory_request);
}

static void set_volume(struct json_builder *body, int number, const char *name, const char *path, const char *limit)
{
    char place[64];

    snprintf(place, sizeof(place), "spec.volumes[%d].name", number);
    json_set_string(body, place, name);
    snprintf(place, sizeof(place), "spec.volumes[%d].emptyDir", number);
    json_set_object(body, place);
    snprintf(place, sizeof(place), "spec.volumes[%d].emptyDir.sizeLimit", number);
    parameter_set_text(body, place, limit);
    snprintf(place, sizeof(place), "spec.containers[0].volumeMounts[%d].name", number);
    json_set_string(body, place, name);
    snprintf(place, sizeof(place), "spec.containers[0].volumeMounts[%d].mountPath", number);
    json_set_string(body, place, path);
}

static void set_variable(struct json_builder *body, int number, const char *name, const char *value)
{
    char place[64];

    snprintf(place, sizeof(place), "spec.containers[0].env[%d].name", number);
    json_set_string(body, place, name);
    snprintf(place, sizeof(place), "spec.containers[0].env[%d].value", number);
    json_set_string(body, place, value);
}

static enum sandlot_status set_variables(struct sandlot_call *call, const struct parameters *parameters,
                                         struct json_builder *body)
{
    AUTO_DOCUMENT struct json_object *own = NULL;
    int count = 0;
    enum sandlot_status status = parameter_variables(call, "environment", parameters->environment, &own);

    if (status != SANDLOT_OK)
        return status;
    set_variable(body, count++, "HOME", parameters->working_dir);
    if (own) {
        json_object_object_foreach(own, name, value) set_variable(body, count++, name, json_object_get_string(value));
    }
    return SANDLOT_OK;
}

/* What other parameters say of the pod. */
static enum sandlot_status check_further(struct sandlot_call *call, const struct parameters *parameters,
                                         struct json_object *further)
{
    static const struct {
        const char *key;
        const char *why;
    } refused[] = {{"containers", "the sandbox's is described by the other parameters"},
                   {"activeDeadlineSeconds", "the parameter hard_ttl_s says when the cluster ends it"}};

    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
        if (json_object_object_get_ex(further, refused[i].key, NULL))
            return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "pod_spec may not have %s: %s", refused[i].key,
                                refused[i].why);
    if (strcmp(parameters->network, "open") != 0 && json_object_object_get_ex(further, "hostNetwork", NULL))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "pod_spec may not have hostNetwork: no NetworkPolicy holds for the network of the node; "
                            "leave it out, or make the sandbox with an open network");
    return SANDLOT_OK;
}

/* What the user wants of the pod besides; there it has the last word. */
static enum sandlot_status set_further(struct sandlot_call *call, const struct parameters *parameters,
                                       struct json_builder *body)
{
    struct json_error error;

    if (!parameter_is_said(parameters->pod_spec))
        return SANDLOT_OK;
    AUTO_DOCUMENT struct json_object *further =
        json_read_document(parameters->pod_spec, strlen(parameters->pod_spec), &error);
    struct json_object *spec = body->root ? json_object_object_get(body->root, "spec") : NULL;

    if (!further || !json_object_is_type(further, json_type_object))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "pod_spec is no table; write it as the API describes a PodSpec");
    enum sandlot_status status = check_further(call, parameters, further);

    if (status != SANDLOT_OK)
        return status;
    json_object_object_foreach(further, key, value)
    {
        if (!spec || json_object_object_add(spec, key, json_object_get(value)) != 0)
            body->failed = true;
    }
    return SANDLOT_OK;
}

enum sandlot_status pod_describe(struct sandlot_call *call, const struct parameters *parameters,
                                 const struct sandlot_create *request, const char *name, struct json_builder *body)
{
    AUTO_FREE char *keeper = make_keeper(request->idle_ttl_ms);
    int64_t hard_s = request->hard_ttl_ms / SECOND_MS + (request->hard_ttl_ms % SECOND_MS != 0);

    json_set_string(body, "apiVersion", "v1");
    json_set_string(body, "kind", "Pod");
    json_set_string(body, "metadata.name", name);
    enum sandlot_status status = pod_set_labels(call, parameters, request, body);

    if (status != SANDLOT_OK)
        return status;
    json_set_member(body, "metadata.labels", POD_NETWORK_KEY, parameters->network);
    json_set_string(body, "spec.restartPolicy", "Never");
    json_set_integer(body, "spec.terminationGracePeriodSeconds", GRACE_S);
    if (hard_s > 0)
        json_set_integer(body, "spec.activeDeadlineSeconds", hard_s < INT32_MAX ? hard_s : INT32_MAX);
    parameter_set_text(body, "spec.runtimeClassName", parameters->runtime_class);
    json_set_string(body, "spec.containers[0].name", POD_CONTAINER);
    json_set_string(body, "spec.containers[0].image", parameters->image);
    json_set_string(body, "spec.containers[0].command[]", "sh");
    json_set_string(body, "spec.containers[0].command[]", "-c");
    json_set_string(body, "spec.containers[0].command[]", keeper);
    json_set_string(body, "spec.containers[0].workingDir", parameters->working_dir);
    set_walls(body, parameters);
    set_limits(body, parameters);
    set_volume(body, 0, "workspace", parameters->working_dir, parameters->disk);
    set_volume(body, 1, "tmp", "/tmp", NULL);
    status = set_variables(call, parameters, body);
    return !keeper ? http_no_memory(call) : status == SANDLOT_OK ? set_further(call, parameters, body) : status;
}

/* ---- what one is ------------------------------------------------------------------------------------------------- */

static bool is_ready(struct json_object *pod, char *reason, size_t capacity)
{
    struct json_object *conditions = NULL;
    bool ready = false;

    json_find_array(pod, "status.conditions", &conditions, NULL);
    for (size_t i = 0; conditions && i < json_object_array_length(conditions); i++) {
        struct json_object *condition = json_object_array_get_idx(conditions, i);
        const char *type = json_object_is_type(condition, json_type_object) ? api_text(condition, "type") : NULL;
        const char *value = type ? api_text(condition, "status") : NULL;
        const char *message = type ? api_text(condition, "message") : NULL;

        ready = ready || (value && strcmp(type, "Ready") == 0 && strcmp(value, "True") == 0);
        if (value && strcmp(type, "PodScheduled") == 0 && strcmp(value, "False") == 0 && message)
            snprintf(reason, capacity, "it has no node yet: %.300s", message);
    }
    return ready;
}

/* Why a container waits, if that will not end by itself. (An image that is not there may come: it is asked for again,
 * but people who mistyped its name had better be told soon.) */
static bool is_hopeless(const char *reason)
{
    static const char *const words[] = {"ImagePullBackOff",     "InvalidImageName",  "CreateContainerConfigError",
                                        "CreateContainerError", "RunContainerError", "CrashLoopBackOff",
                                        "ErrImageNeverPull"};

    for (size_t i = 0; reason && i < sizeof(words) / sizeof(*words); i++)
        if (strcmp(reason, words[i]) == 0)
            return true;
    return false;
}

static bool container_fails(struct json_object *pod, char *reason, size_t capacity)
{
    struct json_object *containers = NULL;

    json_find_array(pod, "status.containerStatuses", &containers, NULL);
    for (size_t i = 0; containers && i < json_object_array_length(containers); i++) {
        struct json_object *container = json_object_array_get_idx(containers, i);
        bool object = json_object_is_type(container, json_type_object);
        const char *word = object ? api_text(container, "state.waiting.reason") : NULL;
        const char *message = object ? api_text(container, "state.waiting.message") : NULL;

        if (word)
            snprintf(reason, capacity, "%.60s%s%.300s", word, message ? ": " : "", message ? message : "");
        if (is_hopeless(word))
            return true;
        word = object ? api_text(container, "state.terminated.reason") : NULL;
        if (word)
            snprintf(reason, capacity, "%.60s", word);
    }
    return false;
}

bool pod_has_ended(struct json_object *pod)
{
    const char *phase = api_text(pod, "status.phase");

    return api_text(pod, "metadata.deletionTimestamp") ||
           (phase && (strcmp(phase, "Failed") == 0 || strcmp(phase, "Succeeded") == 0));
}

enum pod_phase pod_read(struct json_object *pod, char *reason, size_t capacity)
{
    const char *phase = api_text(pod, "status.phase");
    const char *word = api_text(pod, "status.reason");
    const char *message = api_text(pod, "status.message");

    snprintf(reason, capacity, "%.40s", phase ? phase : "no phase");
    bool ready = is_ready(pod, reason, capacity);
    bool hopeless = container_fails(pod, reason, capacity);

    if (word)
        snprintf(reason, capacity, "%.60s%s%.300s", word, message ? ": " : "", message ? message : "");
    if (hopeless || pod_has_ended(pod))
        return POD_ENDED;
    return ready ? POD_READY : POD_STARTING;
}

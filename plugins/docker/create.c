#include "create.h"

#include "image.h"
#include "policy.h"
#include "volumes.h"

#include <sandlot/sdk/cleanup.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MEBIBYTE = 1 << 20, NANOS = 1000000000, LONGEST_NAME = 64, ATTEMPTS = 3, FOREVER_S = INT32_MAX };

/* A creation under way. */
struct creation {
    struct sandlot_call *call;
    struct docker *docker;
    const struct sandlot_create *request;
    const char *image;
    char name[LONGEST_NAME]; /* ours alone: what is sent twice is made once */
    bool without_init;       /* the engine has none */
    char owner[VOLUME_OWNER];
};

/* ---- the body ---------------------------------------------------------------------------------------------------- */

static void set_limits(struct json_builder *body, const struct parameters *wanted)
{
    if (wanted->memory_mb != SANDLOT_ABSENT_INTEGER) {
        json_set_integer(body, "HostConfig.Memory", wanted->memory_mb * MEBIBYTE);
        json_set_integer(body, "HostConfig.MemorySwap", wanted->memory_mb * MEBIBYTE);
    }
    if (!isnan(wanted->cpus))
        json_set_integer(body, "HostConfig.NanoCpus", (int64_t)(wanted->cpus * NANOS));
    if (wanted->processes > 0)
        json_set_integer(body, "HostConfig.PidsLimit", wanted->processes);
    if (wanted->disk_gb != SANDLOT_ABSENT_INTEGER) {
        char size[32];

        snprintf(size, sizeof(size), "%" PRId64 "G", wanted->disk_gb);
        json_set_string(body, "HostConfig.StorageOpt.size", size);
    }
}

/* What a read-only root has that can be written. Its commands may run programs there. */
static void set_memory_folders(struct json_builder *body, const struct parameters *wanted)
{
    static const char options[] = "rw,exec,nosuid,nodev,mode=1777";

    if (!wanted->read_only)
        return;
    json_set_boolean(body, "HostConfig.ReadonlyRootfs", true);
    json_set_member(body, "HostConfig.Tmpfs", "/tmp", options);
    json_set_member(body, "HostConfig.Tmpfs", wanted->working_dir, options);
}

static void set_walls(struct json_builder *body, const struct parameters *wanted, const struct sandlot_network *network)
{
    json_set_string(body, "HostConfig.CapDrop[]", "ALL");
    parameter_set_json(body, "HostConfig.CapAdd", wanted->capabilities);
    json_set_string(body, "HostConfig.NetworkMode", policy_network(wanted, network));
    json_set_string(body, "HostConfig.IpcMode", "private");
    parameter_set_text(body, "HostConfig.UsernsMode", wanted->userns);
    parameter_set_text(body, "HostConfig.Runtime", wanted->runtime);
    parameter_set_json(body, "HostConfig.Mounts", wanted->mounts);
    parameter_set_json(body, "HostConfig.SecurityOpt", wanted->security_options);
    json_set_string(body, "HostConfig.SecurityOpt[]", "no-new-privileges");
    json_set_boolean(body, "HostConfig.Privileged", false);
}

/* It sleeps until its time is over, and then removes itself: also when nobody is there any more to do it. */
static void set_main(struct json_builder *body, const struct creation *creation)
{
    const struct parameters *wanted = &creation->docker->parameters;
    int64_t seconds = creation->request->hard_ttl_ms > 0 ? (creation->request->hard_ttl_ms + 999) / 1000 : FOREVER_S;
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, seconds < FOREVER_S ? seconds : FOREVER_S);
    json_set_string(body, "Image", creation->image);
    json_set_string(body, "Entrypoint[]", CONTAINER_PROGRAM);
    json_set_string(body, "Cmd[]", text);
    json_set_string(body, "WorkingDir", wanted->working_dir);
    parameter_set_text(body, "User", wanted->user);
    json_set_string(body, "Hostname", "sandbox");
    json_set_string(body, "StopSignal", "SIGKILL");
    json_set_boolean(body, "HostConfig.AutoRemove", true);
    json_set_string(body, "HostConfig.LogConfig.Type", "none");
    json_set_object(body, "HostConfig.LogConfig.Config");
    if (!creation->without_init)
        json_set_boolean(body, "HostConfig.Init", true);
}

static enum sandlot_status set_variables(struct creation *creation, struct json_builder *body)
{
    AUTO_DOCUMENT struct json_object *table = NULL;
    enum sandlot_status status =
        parameter_variables(creation->call, "environment", creation->docker->parameters.environment, &table);

    if (status != SANDLOT_OK || !table)
        return status;
    json_object_object_foreach(table, name, value)
    {
        AUTO_FREE char *line = NULL;

        if (asprintf(&line, "%s=%s", name, json_object_get_string(value)) < 0)
            return engine_no_memory(creation->call);
        json_set_string(body, "Env[]", line);
    }
    return SANDLOT_OK;
}

static enum sandlot_status set_labels(struct creation *creation, struct json_builder *body)
{
    const struct sandlot_create *request = creation->request;
    enum sandlot_status status =
        parameter_set_texts(creation->call, body, "Labels", "labels", creation->docker->parameters.labels);

    parameter_set_labels(body, "Labels", request);
    json_set_member(body, "Labels", LABEL_RUN, request->run_label);
    return status;
}

static enum sandlot_status make_body(struct creation *creation, char **text)
{
    struct json_builder body = {0};
    enum sandlot_status status = set_variables(creation, &body);

    if (status == SANDLOT_OK)
        status = set_labels(creation, &body);
    set_main(&body, creation);
    set_limits(&body, &creation->docker->parameters);
    set_memory_folders(&body, &creation->docker->parameters);
    set_walls(&body, &creation->docker->parameters, network_asked(creation->request));
    volumes_set(&body, creation->request, creation->owner);
    *text = json_finish(&body, NULL);
    if (status == SANDLOT_OK && !*text)
        return sandlot_fail(
            creation->call, SANDLOT_INVALID_ARGUMENT,
            "the parameters of the container are no UTF-8, or make no sense together, or memory is short; "
            "correct them");
    return status;
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

/* A name that is taken is taken by an answer of ours that was lost, or it is not ours. */
static enum sandlot_status adopt(struct creation *creation, char *id)
{
    AUTO_CONTAINER struct container container = {0};
    enum sandlot_status status = container_get(creation->call, creation->docker, creation->name, &container);

    if (status != SANDLOT_OK)
        return status;
    if (strcmp(container.run_label, creation->request->run_label) != 0)
        return sandlot_fail(creation->call, SANDLOT_INTERNAL,
                            "there is a container %s already that is not of this creation; remove it", creation->name);
    memcpy(id, container.id, sizeof(container.id));
    return SANDLOT_OK;
}

static void log_warnings(struct sandlot_call *call, struct json_object *answer)
{
    struct json_object *warnings = NULL;

    json_find_array(answer, "Warnings", &warnings, NULL);
    for (size_t i = 0; warnings && i < json_object_array_length(warnings); i++)
        call->host->log(call, SANDLOT_LOG_WARNING, json_object_get_string(json_object_array_get_idx(warnings, i)));
}

static enum sandlot_status take_id(struct sandlot_call *call, struct json_object *answer, char *id)
{
    struct json_error error;
    const char *text;

    if (!json_read_string(answer, "Id", &text, &error))
        return json_fail(call, "the container engine's answer to a creation", &error);
    if (strlen(text) < CONTAINER_ID)
        return sandlot_fail(call, SANDLOT_INTERNAL,
                            "the container engine's answer to a creation has an id that makes no sense; report it");
    snprintf(id, CONTAINER_ID + 1, "%s", text);
    log_warnings(call, answer);
    return SANDLOT_OK;
}

static enum sandlot_status refused(const struct creation *creation, int code, const char *said)
{
    bool bad = code == 400 || engine_says(said, "invalid") || engine_says(said, "unknown");

    return sandlot_fail(creation->call, bad ? SANDLOT_INVALID_ARGUMENT : SANDLOT_UNAVAILABLE,
                        "the container engine makes no container of %.200s: %.400s; correct the parameters, or look "
                        "at the engine's log",
                        creation->image, *said ? said : "it does not say why");
}

/* One request. *ABSENT: the image is not there. */
static enum sandlot_status ask(struct creation *creation, char *id, bool *absent, bool *again)
{
    static const int answers[] = {400, 404, 409, 500, 0};
    const char *platform = creation->docker->parameters.platform;
    struct engine_order order = {.method = "POST", .accepted = answers, .slow = true};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    char said[ENGINE_SAID] = "";
    int code = 0;
    enum sandlot_status status = make_body(creation, &order.body);

    *absent = *again = false;
    if (status != SANDLOT_OK) {
        free(order.body);
        return status;
    }
    order.target = http_target("/containers/create?name={}", creation->name);
    http_target_add(&order.target, "platform", parameter_is_said(platform) ? platform : NULL);
    status = engine_order(creation->call, creation->docker, &order, &code, &answer, said);
    if (status != SANDLOT_OK)
        return status;
    if (code < 300)
        return take_id(creation->call, answer, id);
    *absent = code == 404 && engine_says(said, "no such image");
    *again = !creation->without_init && engine_says(said, "init binary");
    creation->without_init = creation->without_init || *again;
    if (*absent || *again)
        return SANDLOT_OK;
    return engine_says(said, "already in use") ? adopt(creation, id) : refused(creation, code, said);
}

static enum sandlot_status image_is_absent(const struct creation *creation)
{
    return sandlot_fail(creation->call, SANDLOT_INVALID_ARGUMENT,
                        "there is no image %.200s at the container engine; pull it, or set the parameter image",
                        creation->image);
}

static enum sandlot_status ask_until_made(struct creation *creation, bool pull, char *id)
{
    bool absent = false;

    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        bool again = false;
        enum sandlot_status status = ask(creation, id, &absent, &again);

        if (status != SANDLOT_OK || (!absent && !again))
            return status;
        if (absent && !pull)
            break;
        if (absent)
            status = image_pull(creation->call, creation->docker, creation->image);
        if (status != SANDLOT_OK)
            return status;
    }
    return image_is_absent(creation);
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

/* Podman takes the runtime that was asked for and uses its own. */
static enum sandlot_status check_runtime(struct sandlot_call *call, const struct docker *docker)
{
    if (!docker->podman || !parameter_is_said(docker->parameters.runtime))
        return SANDLOT_OK;
    return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                        "Podman's service takes no runtime for one container; start the service with podman "
                        "--runtime %.60s, and leave the parameter runtime out",
                        docker->parameters.runtime);
}

/* dockerd takes any word for a user namespace, and has but its own. */
static enum sandlot_status check_userns(struct sandlot_call *call, const struct docker *docker)
{
    const char *userns = docker->parameters.userns;

    if (docker->podman || !parameter_is_said(userns) || strcmp(userns, "host") == 0)
        return SANDLOT_OK;
    return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                        "dockerd has no user namespace %.60s for one container, but userns-remap in its own settings; "
                        "leave the parameter userns out, or say host",
                        userns);
}

/* A rootless engine has the ids that /etc/subuid gives its user; others are an invalid argument, or "unmapped". */
static bool lacks_user(const struct creation *creation, const char *said)
{
    return parameter_is_said(creation->docker->parameters.user) &&
           (engine_says(said, "invalid argument") || engine_says(said, "unmapped"));
}

static enum sandlot_status not_started(const struct creation *creation, const char *said)
{
    if (lacks_user(creation, said))
        return sandlot_fail(creation->call, SANDLOT_UNSUPPORTED,
                            "the container engine has no user %.60s: %.400s; a rootless one has the ids that "
                            "/etc/subuid and /etc/subgid give its user: have ranges added there and start it anew, or "
                            "leave the parameter user out",
                            creation->docker->parameters.user, said);
    return sandlot_fail(creation->call,
                        engine_says(said, "executable file") || engine_says(said, "not found") ||
                                engine_says(said, "invalid")
                            ? SANDLOT_INVALID_ARGUMENT
                            : SANDLOT_UNAVAILABLE,
                        "the container of %.200s does not start: %.400s; the image needs the programs sh and sleep, "
                        "and the engine what the parameters ask for",
                        creation->image, *said ? said : "the engine does not say why");
}

static enum sandlot_status start(struct creation *creation, const char *id)
{
    char said[ENGINE_SAID] = "";
    bool done;
    enum sandlot_status status = container_order(creation->call, creation->docker, id, "start", &done, said);

    return status != SANDLOT_OK || done ? status : not_started(creation, said);
}

/* One limit that was asked for, 0 if it was not, and where the engine says what the container has and whether it holds.
 */
struct limit {
    const char *parameter;
    const char *without; /* how to ask for none */
    const char *path;
    const char *held;
    int64_t wanted;
};

/* dockerd writes down what it is told, and has warned of it: what it can hold it says of itself alone. */
static enum sandlot_status ask_engine(struct sandlot_call *call, struct docker *docker, struct json_object **info)
{
    if (docker->podman)
        return SANDLOT_OK;
    const struct engine_order order = {.method = "GET", .target = http_target("/info")};

    return engine_order(call, docker, &order, NULL, info, NULL);
}

static bool is_held(const struct limit *limit, struct json_object *container, struct json_object *info)
{
    int64_t has = 0;
    bool held = true;

    json_find_integer(container, limit->path, &has, NULL);
    json_find_boolean(info, limit->held, &held, NULL);
    return held && has > 0 && has <= limit->wanted;
}

enum sandlot_status create_check_limits(struct sandlot_call *call, struct docker *docker, struct json_object *document)
{
    const struct parameters *wanted = &docker->parameters;
    const struct limit limits[] = {
        {"memory_mb", "leave memory_mb out", "HostConfig.Memory", "MemoryLimit",
         wanted->memory_mb == SANDLOT_ABSENT_INTEGER ? 0 : wanted->memory_mb * MEBIBYTE},
        {"cpus", "leave cpus out", "HostConfig.NanoCpus", "CpuCfsQuota",
         isnan(wanted->cpus) ? 0 : (int64_t)(wanted->cpus * NANOS)},
        {"processes", "set processes = 0", "HostConfig.PidsLimit", "PidsLimit", wanted->processes},
    };
    const size_t count = sizeof(limits) / sizeof(*limits);
    AUTO_DOCUMENT struct json_object *info = NULL;
    bool wants = false;

    for (size_t i = 0; i < count; i++)
        wants = wants || limits[i].wanted > 0;
    enum sandlot_status status = wants ? ask_engine(call, docker, &info) : SANDLOT_OK;

    for (size_t i = 0; i < count && status == SANDLOT_OK; i++)
        if (limits[i].wanted > 0 && !is_held(&limits[i], document, info))
            return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                                "the container engine does not keep the limit %s: it passed it over; let the engine "
                                "have control groups of version 2 (a rootless one needs them delegated by systemd), or "
                                "%s",
                                limits[i].parameter, limits[i].without);
    return status;
}

static enum sandlot_status check_wanted(struct sandlot_call *call, const struct parameters *wanted)
{
    if (strcmp(wanted->pull, "missing") != 0 && strcmp(wanted->pull, "always") != 0 &&
        strcmp(wanted->pull, "never") != 0)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "the parameter pull is missing, always or never");
    if (*wanted->working_dir != '/')
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "the parameter working_dir is no absolute path; begin it with \"/\"");
    if (wanted->memory_mb != SANDLOT_ABSENT_INTEGER && (wanted->memory_mb < 6 || wanted->memory_mb > INT32_MAX))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "the parameter memory_mb is from 6 to 2147483647");
    if (!isnan(wanted->cpus) && (wanted->cpus < 0.01 || wanted->cpus > 4096))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "the parameter cpus is from 0.01 to 4096");
    if (wanted->processes < 0)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "the parameter processes is at least 1, or 0 for no limit");
    return SANDLOT_OK;
}

enum sandlot_status create_container(struct sandlot_call *call, struct docker *docker,
                                     const struct sandlot_create *request, const char *image, bool pullable, char *id)
{
    struct creation creation = {.call = call, .docker = docker, .request = request, .image = image};
    const char *pull = docker->parameters.pull;
    enum sandlot_status status = check_wanted(call, &docker->parameters);

    if (status == SANDLOT_OK && *image == '\0')
        status = sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                              "the parameter image is empty; name an image, or leave it out");
    snprintf(creation.name, sizeof(creation.name), "sandlot-%.48s", request->run_label);
    if (status == SANDLOT_OK)
        status = engine_meet(call, docker);
    if (status == SANDLOT_OK)
        status = check_runtime(call, docker);
    if (status == SANDLOT_OK)
        status = check_userns(call, docker);
    if (status == SANDLOT_OK)
        status = volumes_prepare(call, docker, request, creation.owner);
    if (status == SANDLOT_OK && pullable && strcmp(pull, "always") == 0)
        status = image_pull(call, docker, image);
    if (status == SANDLOT_OK)
        status = ask_until_made(&creation, pullable && strcmp(pull, "never") != 0, id);
    if (status != SANDLOT_OK)
        return status;
    call->host->created(call, id, docker->parameters.working_dir);
    status = volumes_claim(call, docker, request, creation.owner, id);
    return status == SANDLOT_OK ? start(&creation, id) : status;
}

#include "create.h"

#include "policy.h"

#include <sandlot/sdk/parameters.h>
#include <string.h>

enum {
    MINUTE = 60,
    LONGEST_STOPPED_S = 2592000, /* 30 days */
    MOST_GIB = 64,
    LONGEST_KEY = 256,
    LONGEST_VALUE = 4096
};

static const int64_t MIB = 1024 * 1024;
static const int64_t GIB = 1024 * 1024 * 1024;

static bool is_said(int64_t value)
{
    return value != SANDLOT_ABSENT_INTEGER;
}

/* Lifetimes are whole minutes there. */
static int64_t whole_minutes(int64_t seconds)
{
    return (seconds + MINUTE - 1) / MINUTE * MINUTE;
}

/* ---- checking --------------------------------------------------------------------------------------------------- */

static enum sandlot_status check_range(struct sandlot_call *call, const char *name, int64_t value, int64_t least,
                                       int64_t most)
{
    if (!is_said(value) || (value >= least && value <= most))
        return SANDLOT_OK;
    return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "the parameter `%s` must be from %lld to %lld, not %lld", name,
                        (long long)least, (long long)most, (long long)value);
}

static enum sandlot_status check_labels(struct sandlot_call *call, struct json_object *labels)
{
    if (!labels)
        return SANDLOT_OK;
    json_object_object_foreach(labels, key, value)
    {
        if (strlen(key) > LONGEST_KEY || json_object_get_string_len(value) > LONGEST_VALUE)
            return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                                "the label `%.40s` is too long: a key has at most %d bytes, a value %d", key,
                                LONGEST_KEY, LONGEST_VALUE);
    }
    return SANDLOT_OK;
}

void creation_clear(struct creation *creation)
{
    json_object_put(creation->environment);
    json_object_put(creation->labels);
    creation->environment = creation->labels = NULL;
}

enum sandlot_status creation_check(struct sandlot_call *call, const struct parameters *parameters,
                                   struct creation *creation)
{
    const struct {
        const char *name;
        int64_t value, least, most;
    } ranges[] = {
        {"snapshot_gib", parameters->snapshot_gib, 1, MOST_GIB},
        {"vcpus", parameters->vcpus, 1, 64},
        {"cpu_millicores", parameters->cpu_millicores, 1, 64000},
        {"memory_mb", parameters->memory_mb, 1, MOST_GIB * 1024},
        {"disk_gib", parameters->disk_gib, 1, MOST_GIB},
        {"delete_after_stop_s", parameters->delete_after_stop_s, 0, LONGEST_STOPPED_S},
    };
    enum sandlot_status status = SANDLOT_OK;

    for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges) && status == SANDLOT_OK; i++)
        status = check_range(call, ranges[i].name, ranges[i].value, ranges[i].least, ranges[i].most);
    if (status == SANDLOT_OK)
        status = parameter_variables(call, "environment", parameters->environment, &creation->environment);
    if (status == SANDLOT_OK)
        status = parameter_texts(call, "labels", parameters->labels, &creation->labels);
    return status == SANDLOT_OK ? check_labels(call, creation->labels) : status;
}

/* ---- building --------------------------------------------------------------------------------------------------- */

static void set_if_said(struct json_builder *body, const char *path, int64_t value, int64_t unit)
{
    if (is_said(value))
        json_set_integer(body, path, value * unit);
}

/*
 * An idle sandbox stops, and a stopped one is deleted after a while. There is no limit whatever happens, so the hard
 * limit becomes that while, and a sandbox that nobody means to keep does not lie there longer than it may be idle.
 */
static void set_lifetime(struct json_builder *body, const struct parameters *parameters,
                         const struct sandlot_create *request)
{
    bool keep = request->flags & SANDLOT_CREATE_KEEP;
    int64_t idle_s = whole_minutes((request->idle_ttl_ms + 999) / 1000);
    int64_t stopped_s = whole_minutes((request->hard_ttl_ms + 999) / 1000);

    json_set_integer(body, "idle_ttl_seconds", idle_s);
    if (!keep && idle_s > 0 && (stopped_s == 0 || idle_s < stopped_s))
        stopped_s = idle_s;
    if (is_said(parameters->delete_after_stop_s))
        json_set_integer(body, "delete_after_stop_seconds", whole_minutes(parameters->delete_after_stop_s));
    else if (stopped_s > 0)
        json_set_integer(body, "delete_after_stop_seconds",
                         stopped_s < LONGEST_STOPPED_S ? stopped_s : LONGEST_STOPPED_S);
}

static void set_labels(struct json_builder *body, const struct creation *creation)
{
    const struct sandlot_create *request = creation->request;

    if (creation->labels) {
        json_object_object_foreach(creation->labels, key, value)
        {
            json_set_member(body, "labels", key, json_object_get_string(value));
        }
    }
    json_set_member(body, "labels", RUN_LABEL, request->run_label);
    parameter_set_labels(body, "labels", request);
}

void creation_write(struct json_builder *body, const struct parameters *parameters, const struct creation *creation)
{
    json_set_string(body, "name", creation->name);
    json_set_string(body, "snapshot_id", creation->snapshot_id);
    json_set_string(body, "snapshot_name", creation->snapshot_name);
    json_set_boolean(body, "wait_for_ready", true);
    json_set_integer(body, "timeout", creation->wait_s);
    set_lifetime(body, parameters, creation->request);
    set_labels(body, creation);
    set_if_said(body, "vcpus", parameters->vcpus, 1);
    set_if_said(body, "cpu_millicores", parameters->cpu_millicores, 1);
    set_if_said(body, "mem_bytes", parameters->memory_mb, MIB);
    set_if_said(body, "fs_capacity_bytes", parameters->disk_gib, GIB);
    if (creation->environment)
        json_set_value(body, "env_vars", json_object_get(creation->environment));
    json_set_string(body, "run_config.user", parameters->user);
    if (parameters->keep_memory)
        json_set_boolean(body, "preserve_memory_on_stop", true);
    json_set_text(body, "proxy_config", parameters->proxy_config);
    if (network_asked(creation->request))
        policy_set(body, network_asked(creation->request));
    json_set_text(body, "mount_config", parameters->mount_config);
    json_set_text(body, "access_delegation", parameters->access_delegation);
}

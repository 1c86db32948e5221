#include "record.h"

#include <sandlot/sdk/cleanup.h>

#include <string.h>

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return false;
}

static enum phase phase_of(const char *state, const char *desired)
{
    static const char *const resting[] = {"stopped", "archived", "paused", NULL};
    static const char *const failed[] = {"error", "build_failed", NULL};
    static const char *const gone[] = {"destroying", "destroyed", NULL};

    /* In listings a sandbox that is being deleted may still be said to have started. */
    if (is_one_of(state, gone) || (desired && strcmp(desired, "destroyed") == 0))
        return PHASE_GONE;
    if (strcmp(state, "started") == 0)
        return PHASE_STARTED;
    if (is_one_of(state, resting))
        return PHASE_RESTING;
    return is_one_of(state, failed) ? PHASE_FAILED : PHASE_PASSING; /* words that are new too */
}

enum sandlot_status record_read(struct sandlot_call *call, struct json_object *document, struct record *record)
{
    const char *desired = NULL;
    const char *mark = NULL;
    const char *custom = NULL;
    struct json_error error;

    *record = (struct record){.state = "unknown", .auto_delete = -1};
    bool well = json_read_string(document, "id", &record->id, &error) &&
                json_find_string(document, "state", &record->state, &error) &&
                json_find_string(document, "desiredState", &desired, &error) &&
                json_find_string(document, "toolboxProxyUrl", &record->proxy_url, &error) &&
                json_find_string(document, "errorReason", &record->reason, &error) &&
                json_find_string(document, "sandboxClass", &record->class_name, &error) &&
                json_find_string(document, "createdAt", &record->created_at, &error) &&
                json_find_string(document, "labels.sandlot", &mark, &error) &&
                json_find_string(document, "labels.\"" LABEL_RUN "\"", &record->run_label, &error) &&
                json_find_string(document, "labels.\"" LABEL_CUSTOM "\"", &custom, &error) &&
                json_find_boolean(document, "recoverable", &record->recoverable, &error) &&
                json_find_integer(document, "autoStopInterval", &record->auto_stop, &error) &&
                json_find_integer(document, "autoDeleteInterval", &record->auto_delete, &error);

    if (!well || !*record->id) {
        *record = (struct record){0};
        return well ? sandlot_fail(call, SANDLOT_INTERNAL,
                                   "Daytona's answer tells of a sandbox without an id; report it to Daytona")
                    : json_fail(call, "Daytona's record of a sandbox", &error);
    }
    if (record->run_label && !json_object_object_get(document, "autoDeleteInterval"))
        record->auto_delete = 0; /* not told: as it was created */
    record->phase = phase_of(record->state, desired);
    record->custom = !mark || custom;
    record->document = json_object_get(document);
    return SANDLOT_OK;
}

bool record_is_machine(const struct record *record)
{
    static const char *const machines[] = {"linux-vm", "windows", NULL};

    return record->class_name && is_one_of(record->class_name, machines);
}

static enum sandlot_status get(struct sandlot_call *call, struct daytona *daytona, const char *id_or_name,
                               const int *accepted, struct record *record)
{
    AUTO_DOCUMENT struct json_object *document = NULL;
    int code = 0;

    *record = (struct record){0};
    enum sandlot_status status =
        api_order(call, daytona, "GET", http_target("/sandbox/{}", id_or_name), accepted, &code, &document);

    if (status != SANDLOT_OK || code == 404)
        return status;
    if (!document)
        return sandlot_fail(call, SANDLOT_INTERNAL, "Daytona's answer about sandbox %.100s is empty; try again",
                            id_or_name);
    return record_read(call, document, record);
}

enum sandlot_status record_get(struct sandlot_call *call, struct daytona *daytona, const char *id_or_name,
                               struct record *record)
{
    return get(call, daytona, id_or_name, NULL, record);
}

enum sandlot_status record_find(struct sandlot_call *call, struct daytona *daytona, const char *id_or_name,
                                struct record *record)
{
    static const int not_there[] = {404, 0};

    return get(call, daytona, id_or_name, not_there, record);
}

void record_clear(struct record *record)
{
    json_object_put(record->document);
    *record = (struct record){0};
}

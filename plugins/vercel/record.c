#include "record.h"

#include <sandlot/sdk/cleanup.h>
#include <string.h>

/* Vercel's times are taken for such up to here: the year 10,000. */
static const int64_t latest_ms = 253402300800000;

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return false;
}

static enum phase phase_of(const char *state)
{
    static const char *const ending[] = {"stopping", "snapshotting", NULL};
    static const char *const ended[] = {"stopped", "failed", "aborted", NULL};

    if (strcmp(state, "running") == 0)
        return PHASE_RUNNING;
    if (is_one_of(state, ending))
        return PHASE_ENDING;
    return is_one_of(state, ended) ? PHASE_ENDED : PHASE_STARTING; /* words that are new too */
}

static void read_until(struct json_object *document, struct record *record)
{
    const char *until = NULL;

    json_find_string(document, "sandbox.tags.\"" TAG_UNTIL "\"", &until, NULL);
    if (until)
        record->until_ms = strtoll(until, NULL, 10);
    if (record->until_ms < 0 || record->until_ms > latest_ms)
        record->until_ms = 0;
}

/* Which hosts have headers is told, and their names; their values never are. */
static bool has_credentials(struct json_object *document)
{
    struct json_object *rules = NULL;

    json_find_array(document, "sandbox.networkPolicy.injectionRules", &rules, NULL);
    return rules && json_object_array_length(rules) > 0;
}

static bool read_sandbox(struct json_object *document, struct record *record, struct json_error *error)
{
    return json_read_string(document, "sandbox.name", &record->name, error) &&
           json_find_string(document, "sandbox.status", &record->state, error) &&
           json_find_string(document, "sandbox.currentSessionId", &record->session, error) &&
           json_find_string(document, "sandbox.cwd", &record->working_dir, error) &&
           json_find_string(document, "sandbox.currentSnapshotId", &record->snapshot, error) &&
           json_find_string(document, "sandbox.tags.\"" TAG_RUN "\"", &record->run_label, error) &&
           json_find_boolean(document, "sandbox.persistent", &record->persistent, error) &&
           json_find_integer(document, "sandbox.createdAt", &record->created_at_ms, error) &&
           json_find_integer(document, "sandbox.timeout", &record->timeout_ms, error);
}

static bool read_session(struct json_object *document, struct record *record, struct json_error *error)
{
    int64_t begun_ms = 0;
    int64_t timeout_ms = 0;
    bool well = json_find_string(document, "session.status", &record->state, error) &&
                json_find_string(document, "session.id", &record->session, error) &&
                json_find_string(document, "session.cwd", &record->working_dir, error) &&
                json_find_string(document, "session.sourceSnapshotId", &record->source_snapshot, error) &&
                json_find_integer(document, "session.createdAt", &begun_ms, error) &&
                json_find_integer(document, "session.startedAt", &begun_ms, error) &&
                json_find_integer(document, "session.timeout", &timeout_ms, error);

    if (begun_ms > 0 && begun_ms < latest_ms && timeout_ms > 0 && timeout_ms < latest_ms) {
        record->begun_at_ms = begun_ms;
        record->ends_at_ms = begun_ms + timeout_ms;
        if (record->timeout_ms <= 0) /* of the sandbox it need not be told */
            record->timeout_ms = timeout_ms;
    }
    return well;
}

enum sandlot_status record_read(struct sandlot_call *call, struct json_object *document, struct record *record)
{
    struct json_error error;

    *record = (struct record){.state = "unknown"};
    if (!read_sandbox(document, record, &error) || !read_session(document, record, &error)) {
        *record = (struct record){0};
        return json_fail(call, "Vercel's record of a sandbox", &error);
    }
    if (!*record->name || !record->session || !*record->session) {
        *record = (struct record){0};
        return sandlot_fail(call, SANDLOT_INTERNAL,
                            "Vercel's answer tells of a sandbox without a name or a session; report it to Vercel");
    }
    read_until(document, record);
    record->has_credentials = has_credentials(document);
    record->phase = phase_of(record->state);
    record->document = json_object_get(document);
    return SANDLOT_OK;
}

static enum sandlot_status not_there(struct sandlot_call *call, const char *name)
{
    return sandlot_fail(call, SANDLOT_NOT_FOUND, "Vercel has no sandbox '%.128s' (any more); create another one", name);
}

enum sandlot_status record_find(struct sandlot_call *call, struct vercel *vercel, const char *name,
                                struct record *record)
{
    static const int not_found[] = {404, 0};
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct rest_request request = {
        .method = "GET", .target = http_target("/v2/sandboxes/{}", name), .accepted = not_found};
    enum sandlot_status status = api_send(call, vercel, API_NAME, &request, &response, &answer);

    *record = (struct record){0};
    return status == SANDLOT_OK && answer ? record_read(call, answer, record) : status;
}

enum sandlot_status record_get(struct sandlot_call *call, struct vercel *vercel, const char *name,
                               struct record *record)
{
    enum sandlot_status status = record_find(call, vercel, name, record);

    return status == SANDLOT_OK && !record->document ? not_there(call, name) : status;
}

enum sandlot_status record_resume(struct sandlot_call *call, struct vercel *vercel, const char *name,
                                  struct record *record)
{
    static const int refusals[] = {404, 409, 410, 422, 0};
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct rest_request request = {
        .method = "GET", .target = http_target("/v2/sandboxes/{}?resume=true", name), .accepted = refusals};
    enum sandlot_status status = api_send(call, vercel, API_NAME, &request, &response, &answer);

    *record = (struct record){0};
    if (status != SANDLOT_OK)
        return status;
    if (answer)
        return record_read(call, answer, record);
    if (response.status == 404)
        return not_there(call, name);
    if (response.status == 410)
        return sandlot_fail(call, SANDLOT_NOT_FOUND,
                            "Vercel cannot start the sandbox '%.128s' again: the snapshot with its files is gone; "
                            "create another one",
                            name);
    return SANDLOT_OK;
}

bool record_keeps_files(const struct record *record)
{
    if (record->persistent)
        return true;
    /* A snapshot that the session itself had started from does not have what was done since. */
    return record->snapshot && (!record->source_snapshot || strcmp(record->snapshot, record->source_snapshot) != 0);
}

void record_clear(struct record *record)
{
    json_object_put(record->document);
    *record = (struct record){0};
}

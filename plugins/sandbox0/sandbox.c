#include "sandbox.h"

#include "create.h"
#include "label.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/pause.h>
#include <sandlot/sdk/remote_command.h>
#include <sandlot/sdk/timestamp.h>
#include <string.h>

enum {
    CHANGE_MS = 300 * 1000, /* for a change of state that nobody has given a deadline */
    REFUSALS = 8            /* of a sandbox that is said to run */
};

/* ---- records --------------------------------------------------------------------------------------------------- */

static enum phase phase_of(const char *state, bool paused)
{
    if (strcmp(state, "failed") == 0 || strcmp(state, "terminating") == 0)
        return PHASE_ENDED;
    if (paused || strcmp(state, "paused") == 0)
        return PHASE_PAUSED;
    return strcmp(state, "running") == 0 ? PHASE_RUNNING : PHASE_STARTING;
}

bool record_read(struct json_object *document, struct record *record, struct json_error *error)
{
    const char *created = NULL;
    bool paused = false;

    *record = (struct record){.state = "unknown"};
    if (!json_read_string(document, "id", &record->id, error) ||
        !json_find_string(document, "status", &record->state, error) ||
        !json_find_boolean(document, "paused", &paused, error) ||
        !json_find_string(document, "created_at", &created, error))
        return false;
    record->phase = phase_of(record->state, paused);
    record->label = label_read(document);
    record->labelled = json_object_object_get_ex(document, "services", NULL);
    record->created_at_ms = timestamp_read(created);
    return true;
}

enum sandlot_status record_get(struct sandlot_call *call, struct sandbox0 *sandbox0, const char *id,
                               struct record *record)
{
    const struct rest_request order = {.method = "GET", .target = http_target(SANDBOXES "/{}", id)};
    struct json_object *data = NULL;
    struct json_object *answer = NULL;
    struct json_error error;
    enum sandlot_status status = api_send(call, sandbox0, order, NULL, &answer);
    bool well =
        status == SANDLOT_OK && json_read_object(answer, "data", &data, &error) && record_read(data, record, &error);

    if (!well)
        *record = (struct record){0};
    record->document = answer;
    return well || status != SANDLOT_OK ? status : json_fail(call, SERVICE "'s answer about a sandbox", &error);
}

void record_clear(struct record *record)
{
    json_object_put(record->document);
    *record = (struct record){0};
}

/* ---- states ---------------------------------------------------------------------------------------------------- */

/* One look, and what is to be done about it. What is refused meanwhile is asked again: the sandbox may be on its way to
 * sleep, or be woken by somebody else. *THERE: it is in PHASE. */
static enum sandlot_status look(struct sandlot_call *call, struct sandbox0 *sandbox0, const char *id, enum phase phase,
                                bool *there)
{
    static const int busy[] = {409, 503, 504, 0};
    const char *pattern = phase == PHASE_PAUSED ? SANDBOXES "/{}/pause" : SANDBOXES "/{}/resume";
    AUTO_RECORD struct record record = {0};
    enum sandlot_status status = record_get(call, sandbox0, id, &record);

    if (status != SANDLOT_OK)
        return status;
    if (record.phase == PHASE_ENDED)
        return sandlot_fail(call, SANDLOT_NOT_FOUND,
                            SERVICE "'s sandbox '%.128s' is over: it is \"%.40s\"; create another one", id,
                            record.state);
    *there = record.phase == phase;
    if (*there || record.phase == PHASE_STARTING)
        return SANDLOT_OK;
    const struct rest_request order = {
        .method = "POST", .target = http_target(pattern, id), .repeatable = true, .accepted = busy};

    return api_send(call, sandbox0, order, NULL, NULL);
}

enum sandlot_status sandbox_bring(struct sandlot_call *call, struct sandbox0 *sandbox0, const char *id,
                                  enum phase phase)
{
    struct pause pause = {.service = SERVICE, .limit_ms = CHANGE_MS};
    bool there = false;
    enum sandlot_status status;

    do
        status = look(call, sandbox0, id, phase, &there);
    while (status == SANDLOT_OK && !there && pause_again(call, &pause, &status));
    return status != SANDLOT_OK || there
               ? status
               : sandlot_fail(call, SANDLOT_UNAVAILABLE,
                              SERVICE "'s sandbox '%.128s' takes very long to %s; look at it later", id,
                              phase == PHASE_PAUSED ? "pause" : "start");
}

enum sandlot_status sandbox_send(struct sandlot_call *call, struct sandbox *sandbox, const struct http_request *request,
                                 struct http_response *response)
{
    struct pause pause = {.service = SERVICE, .looks = REFUSALS};
    struct http_client *client = sandbox->sandbox0->client;

    for (;;) {
        struct attempt attempt;

        attempt_begin(&attempt, call, 0);
        enum sandlot_status status = http_send(&attempt.call, client, request, response);

        if (response->status != 503)
            return status == SANDLOT_OK ? status : attempt_fail(&attempt, status);
        status = sandbox_bring(call, sandbox->sandbox0, sandbox->id, PHASE_RUNNING);
        if (status == SANDLOT_OK && request->body.rewind &&
            request->body.rewind(request->body.rewind_context) != SANDLOT_OK)
            return sandlot_fail(call, SANDLOT_UNAVAILABLE, SERVICE "'s sandbox '%.128s' was asleep; try again",
                                sandbox->id);
        if (status != SANDLOT_OK)
            return status;
        if (!pause_again(call, &pause, &status))
            return status == SANDLOT_OK ? http_response_fail(call, client, request, response) : status;
        http_response_clear(response);
    }
}

/* ---- finding and making ---------------------------------------------------------------------------------------- */

void sandbox_release(void *provider, void *handle)
{
    struct sandbox *sandbox = handle;

    (void)provider;
    if (!sandbox)
        return;
    pthread_mutex_destroy(&sandbox->publishing);
    http_relay_places_clear(&sandbox->places);
    free(sandbox->id);
    free(sandbox);
}

static enum sandlot_status open_handle(struct sandlot_call *call, struct sandbox0 *sandbox0, const char *id,
                                       bool running, void **handle)
{
    struct sandbox *sandbox = calloc(1, sizeof(*sandbox));

    if (!sandbox || !(sandbox->id = strdup(id))) {
        free(sandbox);
        return http_no_memory(call);
    }
    pthread_mutex_init(&sandbox->publishing, NULL);
    http_relay_places_init(&sandbox->places);
    sandbox->sandbox0 = sandbox0;
    sandbox->running = running;
    *handle = sandbox;
    return SANDLOT_OK;
}

enum sandlot_status sandbox_get_or_create(struct sandlot_call *call, void *provider,
                                          const struct sandlot_create *request, void **sandbox)
{
    AUTO_FREE char *made = NULL;
    const char *id = request->sandbox_id;
    bool running = false;
    enum sandlot_status status =
        id ? look(call, provider, id, PHASE_RUNNING, &running) : create_claim(call, provider, request, &made, &running);

    return status == SANDLOT_OK ? open_handle(call, provider, id ? id : made, running, sandbox) : status;
}

enum sandlot_status sandbox_ready(struct sandlot_call *call, void *provider, void *handle)
{
    struct sandbox *sandbox = handle;
    bool there = sandbox->running;
    enum sandlot_status status = there ? SANDLOT_OK : look(call, provider, sandbox->id, PHASE_RUNNING, &there);

    sandbox->running = there;
    if (status == SANDLOT_OK && !there)
        status = sandlot_fail(call, SANDLOT_UNAVAILABLE, SERVICE "'s sandbox '%.128s' does not run yet", sandbox->id);
    return status;
}

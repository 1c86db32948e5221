#include "sandbox.h"

#include "create.h"

#include <sandlot/sdk/cleanup.h>
#include <string.h>

enum {
    READY_WINDOW_S = 10, /* of one look; the service holds half a minute at most */
    LONG_WINDOW_S = 25,
    BRING_UP_MS = 180 * 1000,
    ANSWER_MS = 15 * 1000 /* that it may take longer than it was asked to wait */
};

/* ---- states ------------------------------------------------------------------------------------------------------ */

bool sandbox_is_refusal(int status)
{
    static const int refusals[] = {SANDBOX_REFUSALS};

    return status == refusals[0] || status == refusals[1] || status == refusals[2];
}

enum sandlot_status sandbox_is_gone(struct sandlot_call *call, const struct record *record)
{
    return sandlot_fail(call, SANDLOT_NOT_FOUND,
                        "Runloop's devbox %.100s has ended (%.40s%s%.100s); sandlot list shows those that live",
                        record->id, record->status, record->reason ? ": " : "", record->reason ? record->reason : "");
}

static char *wait_body(const char *const *words, int window_s)
{
    struct json_builder body = {0};

    for (; *words; words++)
        json_set_string(&body, "statuses[]", *words);
    json_set_integer(&body, "timeout_seconds", window_s);
    return json_finish(&body, NULL);
}

enum sandlot_status sandbox_wait_for_rest(struct sandlot_call *call, struct runloop *runloop, const char *id,
                                          int window_s, struct record *record)
{
    static const char *const words[] = {"running", "suspended", "failure", "shutdown", NULL};
    static const int window_over[] = {408, 0};
    AUTO_DOCUMENT struct json_object *document = NULL;
    int left_s = (sandlot_remaining_ms(call, window_s * 1000) + 999) / 1000;
    struct api_order order = {.method = "POST",
                              .target = http_target("/v1/devboxes/{}/wait_for_status", id),
                              .body = wait_body(words, left_s > 0 ? left_s : 1),
                              .accepted = window_over,
                              .silence_ms = window_s * 1000 + ANSWER_MS};
    int code = 0;

    *record = (struct record){0};
    if (!order.body) {
        free(order.target);
        return http_no_memory(call);
    }
    enum sandlot_status status = api_send_order(call, runloop, &order, &code, &document);

    if (status != SANDLOT_OK || code == 408)
        return status;
    if (!document)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "Runloop's answer about devbox %.100s is empty; try again", id);
    return record_read(call, document, record);
}

enum sandlot_status sandbox_change(struct sandlot_call *call, struct runloop *runloop, const char *id,
                                   const char *change, bool *refused)
{
    static const int refusals[] = {400, 409, 0};
    const struct api_order order = {
        .method = "POST", .target = http_target("/v1/devboxes/{}/{}", id, change), .accepted = refusals};
    int code = 0;
    enum sandlot_status status = api_send_order(call, runloop, &order, &code, NULL);

    *refused = code >= 400;
    return status;
}

enum sandlot_status sandbox_look(struct sandlot_call *call, struct runloop *runloop, const char *id, int window_s,
                                 char word[32])
{
    AUTO_RECORD struct record record = {0};
    bool refused;

    word[0] = '\0';
    enum sandlot_status status = sandbox_wait_for_rest(call, runloop, id, window_s, &record);

    if (status != SANDLOT_OK)
        return status;
    snprintf(word, 32, "%s", record.id ? record.status : "starting");
    if (!record.id)
        return SANDLOT_UNAVAILABLE;
    switch (record.phase) {
    case PHASE_RUNNING:
        return SANDLOT_OK;
    case PHASE_SUSPENDED:
        /* Refused: somebody else was faster, as the next look tells. */
        status = sandbox_change(call, runloop, id, "resume", &refused);
        return status == SANDLOT_OK ? SANDLOT_UNAVAILABLE : status;
    case PHASE_GONE:
        return sandbox_is_gone(call, &record);
    case PHASE_MOVING:
    default:
        return SANDLOT_UNAVAILABLE;
    }
}

static enum sandlot_status not_yet(struct sandlot_call *call, const char *id, const char *word)
{
    return sandlot_fail(call, SANDLOT_UNAVAILABLE, "Runloop's devbox %.100s is not running yet (%s); wait a little", id,
                        word);
}

enum sandlot_status sandbox_bring_up(struct sandlot_call *call, struct runloop *runloop, const char *id)
{
    struct pause pause = {.service = "Runloop", .limit_ms = BRING_UP_MS};
    char word[32];
    enum sandlot_status status;

    do
        status = sandbox_look(call, runloop, id, LONG_WINDOW_S, word);
    while (status == SANDLOT_UNAVAILABLE && *word && pause_again(call, &pause, &status));
    return status == SANDLOT_UNAVAILABLE && *word ? not_yet(call, id, word) : status;
}

enum sandlot_status sandbox_wake(struct sandlot_call *call, const struct sandbox *sandbox, bool *running)
{
    AUTO_RECORD struct record record = {0};
    enum sandlot_status status = record_get(call, sandbox->runloop, sandbox->id, &record);

    *running = status == SANDLOT_OK && record.phase == PHASE_RUNNING;
    if (status != SANDLOT_OK || *running)
        return status;
    return record.phase == PHASE_GONE ? sandbox_is_gone(call, &record)
                                      : sandbox_bring_up(call, sandbox->runloop, sandbox->id);
}

/* ---- handles ----------------------------------------------------------------------------------------------------- */

static enum sandlot_status open_handle(struct sandlot_call *call, struct runloop *runloop, const struct record *record,
                                       struct sandbox **made)
{
    struct sandbox *sandbox = calloc(1, sizeof(*sandbox));

    if (sandbox) {
        http_relay_places_init(&sandbox->places);
        sandbox->id = strdup(record->id);
    }
    if (!sandbox || !sandbox->id) {
        sandbox_release(runloop, sandbox);
        return http_no_memory(call);
    }
    sandbox->runloop = runloop;
    sandbox->running = record->phase == PHASE_RUNNING;
    *made = sandbox;
    return SANDLOT_OK;
}

/* Whatever state it is in, unless it has ended: bringing it to run is the business of `ready`. */
static enum sandlot_status attach(struct sandlot_call *call, struct runloop *runloop, const char *id,
                                  struct record *record)
{
    enum sandlot_status status = record_get(call, runloop, id, record);

    if (status == SANDLOT_OK && record->phase == PHASE_GONE)
        return sandbox_is_gone(call, record);
    if (status == SANDLOT_OK)
        create_tell(call, record);
    return status;
}

/* One that has failed to start. */
static enum sandlot_status check_made(struct sandlot_call *call, const struct record *record)
{
    if (record->phase != PHASE_GONE)
        return SANDLOT_OK;
    return sandlot_fail(call, SANDLOT_INTERNAL,
                        "Runloop's devbox %.100s did not start (%.40s%s%.100s); make another, perhaps from another "
                        "blueprint or of another size",
                        record->id, record->status, record->reason ? ": " : "", record->reason ? record->reason : "");
}

enum sandlot_status sandbox_get_or_create(struct sandlot_call *call, void *provider,
                                          const struct sandlot_create *request, void **sandbox)
{
    struct runloop *runloop = provider;
    AUTO_RECORD struct record record = {0};
    struct sandbox *made = NULL;
    enum sandlot_status status = request->sandbox_id ? attach(call, runloop, request->sandbox_id, &record)
                                                     : create_devbox(call, runloop, request, &record);

    if (status == SANDLOT_OK && !request->sandbox_id)
        status = check_made(call, &record);
    if (status == SANDLOT_OK)
        status = open_handle(call, runloop, &record, &made);
    *sandbox = made;
    return status;
}

enum sandlot_status sandbox_ready(struct sandlot_call *call, void *provider, void *handle)
{
    struct sandbox *sandbox = handle;
    char word[32];

    (void)provider;
    if (sandbox->running)
        return SANDLOT_OK;
    enum sandlot_status status = sandbox_look(call, sandbox->runloop, sandbox->id, READY_WINDOW_S, word);

    if (status == SANDLOT_UNAVAILABLE && *word)
        return not_yet(call, sandbox->id, word);
    sandbox->running = status == SANDLOT_OK;
    return status;
}

void sandbox_release(void *provider, void *handle)
{
    struct sandbox *sandbox = handle;

    (void)provider;
    if (!sandbox)
        return;
    http_relay_places_clear(&sandbox->places);
    free(sandbox->id);
    free(sandbox);
}

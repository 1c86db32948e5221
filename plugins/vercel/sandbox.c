#include "sandbox.h"

#include "create.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/pause.h>
#include <sandlot/sdk/timestamp.h>
#include <string.h>

enum {
    FIRST_PAUSE_MS = 200,
    CHANGE_MS = 300 * 1000, /* for a change of state that nobody has given a deadline */
    LEAST_EXTENSION_MS = 1000
};

/* ---- handles --------------------------------------------------------------------------------------------------- */

void sandbox_release(void *provider, void *handle)
{
    struct sandbox *sandbox = handle;

    (void)provider;
    if (!sandbox)
        return;
    http_relay_places_clear(&sandbox->places);
    free(sandbox->name);
    free(sandbox->session);
    free(sandbox->working_dir);
    pthread_mutex_destroy(&sandbox->lock);
    free(sandbox);
}

/* Until when the session may be made longer: by its tag, and by what the user knows of the plan. */
static int64_t latest_end(const struct vercel *vercel, const struct record *record)
{
    int64_t latest_ms = record->begun_at_ms + api_milliseconds(vercel->parameters.session_maximum_s);

    if (record->begun_at_ms == 0)
        return 0;
    return timestamp_steady(record->until_ms > 0 && record->until_ms < latest_ms ? record->until_ms : latest_ms);
}

/* Takes over what an answer says. */
static enum sandlot_status take(struct sandlot_call *call, struct sandbox *sandbox, const struct record *record)
{
    char *session = strdup(record->session);
    char *folder = strdup(record->working_dir && *record->working_dir == '/' ? record->working_dir : WORKING_DIR);

    if (!session || !folder) {
        free(session);
        free(folder);
        return http_no_memory(call);
    }
    pthread_mutex_lock(&sandbox->lock);
    free(sandbox->session);
    sandbox->session = session;
    free(sandbox->working_dir);
    sandbox->working_dir = folder;
    sandbox->has_credentials = record->has_credentials;
    sandbox->running = record->phase == PHASE_RUNNING;
    sandbox->ends_ms = record->ends_at_ms > 0 ? timestamp_steady(record->ends_at_ms) : 0;
    if (sandbox->rest_ms == 0)
        sandbox->rest_ms = record->timeout_ms;
    sandbox->until_ms = latest_end(sandbox->vercel, record);
    sandbox->again_ms = 0;
    pthread_mutex_unlock(&sandbox->lock);
    return SANDLOT_OK;
}

static enum sandlot_status open_handle(struct sandlot_call *call, struct vercel *vercel, const struct record *record,
                                       struct sandbox **made)
{
    struct sandbox *sandbox = calloc(1, sizeof(*sandbox));

    if (!sandbox)
        return http_no_memory(call);
    sandbox->vercel = vercel;
    pthread_mutex_init(&sandbox->lock, NULL);
    http_relay_places_init(&sandbox->places);
    sandbox->name = strdup(record->name);
    enum sandlot_status status = sandbox->name ? take(call, sandbox, record) : http_no_memory(call);

    if (status == SANDLOT_OK)
        *made = sandbox;
    else
        sandbox_release(vercel, sandbox);
    return status;
}

/* ---- sessions -------------------------------------------------------------------------------------------------- */

bool sandbox_is_refusal(int status, const char *code)
{
    return status == 410 || (status == 422 && strncmp(code, "sandbox_", strlen("sandbox_")) == 0);
}

static enum sandlot_status files_are_gone(struct sandlot_call *call, const char *name)
{
    return sandlot_fail(
        call, SANDLOT_NOT_FOUND,
        "the session of Vercel's sandbox '%.128s' is over and its files are gone with it, for it is not "
        "persistent; create another one, with a longer ttl_s or with persistent=true",
        name);
}

static enum sandlot_status too_slow(struct sandlot_call *call, const char *name, const struct record *record)
{
    return sandlot_fail(call, SANDLOT_UNAVAILABLE,
                        "Vercel's sandbox '%.128s' has been \"%.40s\" for long and nothing comes of it; look at it "
                        "later",
                        name, record->document ? record->state : "ending");
}

enum sandlot_status sandbox_start(struct sandlot_call *call, struct vercel *vercel, const char *name,
                                  struct record *record)
{
    struct pause pause = {.service = VERCEL_SERVICE, .limit_ms = CHANGE_MS};

    for (;;) {
        enum sandlot_status status = record_get(call, vercel, name, record);

        if (status == SANDLOT_OK && record->phase == PHASE_ENDED) {
            bool kept = record_keeps_files(record);

            record_clear(record);
            status = kept ? record_resume(call, vercel, name, record) : files_are_gone(call, name);
        }
        if (status != SANDLOT_OK || (record->document && record->phase == PHASE_RUNNING))
            return status;
        if (!pause_again(call, &pause, &status) && status == SANDLOT_OK)
            status = too_slow(call, name, record);
        record_clear(record);
        if (status != SANDLOT_OK)
            return status;
    }
}

enum sandlot_status sandbox_wait_for(struct sandlot_call *call, struct vercel *vercel, const char *name,
                                     enum phase phase, struct record *record)
{
    struct pause pause = {.service = VERCEL_SERVICE, .limit_ms = CHANGE_MS};

    for (;;) {
        enum sandlot_status status = record_get(call, vercel, name, record);

        if (status != SANDLOT_OK || record->phase == phase)
            return status;
        if (record->phase == PHASE_ENDED)
            status =
                sandlot_fail(call, SANDLOT_INTERNAL,
                             "Vercel's sandbox '%.128s' has become \"%.40s\" instead; look at it with Vercel's own "
                             "tools",
                             name, record->state);
        else if (!pause_again(call, &pause, &status) && status == SANDLOT_OK)
            status = too_slow(call, name, record);
        record_clear(record);
        if (status != SANDLOT_OK)
            return status;
    }
}

enum sandlot_status sandbox_renew(struct sandlot_call *call, struct sandbox *sandbox, struct record *record)
{
    enum sandlot_status status = sandbox_start(call, sandbox->vercel, sandbox->name, record);

    return status == SANDLOT_OK ? take(call, sandbox, record) : status;
}

enum sandlot_status sandbox_wake(struct sandlot_call *call, struct sandbox *sandbox, const char *session)
{
    AUTO_RECORD struct record record = {0};

    pthread_mutex_lock(&sandbox->lock);
    bool another = strcmp(sandbox->session, session) != 0; /* somebody else was faster */

    pthread_mutex_unlock(&sandbox->lock);
    return another ? SANDLOT_OK : sandbox_renew(call, sandbox, &record);
}

/* ---- making sessions longer ------------------------------------------------------------------------------------ */

/* By how much the session is to be made longer now; 0: not at all. The others then need not do it too. */
static int64_t claim_extension(struct sandbox *sandbox)
{
    int64_t now_ms = timestamp_steady_now();
    int64_t left_ms = sandbox->ends_ms - now_ms;
    int64_t more_ms = sandbox->rest_ms - left_ms;

    if (sandbox->fixed || sandbox->ends_ms == 0 || now_ms < sandbox->again_ms || left_ms >= sandbox->rest_ms / 2)
        return 0;
    if (more_ms > sandbox->until_ms - sandbox->ends_ms)
        more_ms = sandbox->until_ms - sandbox->ends_ms;
    if (more_ms < LEAST_EXTENSION_MS)
        return 0;
    sandbox->ends_ms += more_ms;
    return more_ms;
}

/* The claim of MORE_MS anew: another process may have made the session longer, and more comes on top of that. */
static int64_t claim_again(struct sandlot_call *call, struct sandbox *sandbox, const char *session, int64_t more_ms)
{
    AUTO_RECORD struct record record = {0};

    if (record_get(call, sandbox->vercel, sandbox->name, &record) != SANDLOT_OK || record.ends_at_ms == 0 ||
        strcmp(record.session, session) != 0)
        return more_ms;
    pthread_mutex_lock(&sandbox->lock);
    sandbox->ends_ms = timestamp_steady(record.ends_at_ms);
    more_ms = claim_extension(sandbox);
    pthread_mutex_unlock(&sandbox->lock);
    return more_ms;
}

/* Whatever comes of it, what the session is wanted for is tried. */
static void extend(struct sandlot_call *call, struct sandbox *sandbox, const char *session, int64_t more_ms)
{
    static const int refusals[] = {400, 402, 403, 404, 405, 409, 410, 422, 500, 0};
    struct json_builder body = {0};
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *answer = NULL;

    struct attempt attempt;

    attempt_begin(&attempt, call, 0);
    more_ms = claim_again(&attempt.call, sandbox, session, more_ms);
    if (more_ms == 0)
        return;
    json_set_integer(&body, "duration", more_ms);
    struct rest_request request = {.method = "POST",
                                   .target = http_target("/v2/sandboxes/sessions/{}/extend-timeout", session),
                                   .body = &body,
                                   .never_repeat = true, /* twice would be too much */
                                   .accepted = refusals};
    enum sandlot_status status = api_send(&attempt.call, sandbox->vercel, API_SESSION, &request, &response, &answer);
    bool not_now = response.status == 429 || response.status == 503; /* a later use asks again */

    if (answer || (status != SANDLOT_OK && !not_now))
        return;
    bool fixed = response.status == 400 || response.status == 402 || response.status == 403;

    pthread_mutex_lock(&sandbox->lock);
    sandbox->fixed = fixed;
    sandbox->ends_ms -= more_ms;
    sandbox->again_ms = timestamp_steady_now() + (sandbox->ends_ms - timestamp_steady_now()) / 4;
    pthread_mutex_unlock(&sandbox->lock);
    if (fixed)
        call->host->log(call, SANDLOT_LOG_WARNING,
                        "Vercel does not make the session of this sandbox longer; it will end when its time is up");
}

int64_t sandbox_lasts_ms(struct sandbox *sandbox)
{
    pthread_mutex_lock(&sandbox->lock);
    int64_t lasts_ms = sandbox->rest_ms / 2;

    pthread_mutex_unlock(&sandbox->lock);
    return lasts_ms;
}

/* ---- what is done in a session --------------------------------------------------------------------------------- */

static char *make_target(const struct sandbox *sandbox, const char *session, const char *operation)
{
    AUTO_FREE char *pattern = NULL;
    char *target =
        asprintf(&pattern, "/v2/sandboxes/sessions/{}%s", operation) < 0 ? NULL : http_target(pattern, session);

    api_add_scope(sandbox->vercel, &target, API_SESSION);
    return target;
}

char *sandbox_target_now(struct sandbox *sandbox, const char *operation)
{
    pthread_mutex_lock(&sandbox->lock);
    char *target = make_target(sandbox, sandbox->session, operation);

    pthread_mutex_unlock(&sandbox->lock);
    return target;
}

char *sandbox_target(struct sandlot_call *call, struct sandbox *sandbox, const char *operation, char **session)
{
    pthread_mutex_lock(&sandbox->lock);
    int64_t more_ms = claim_extension(sandbox);

    *session = strdup(sandbox->session);
    pthread_mutex_unlock(&sandbox->lock);
    if (!*session)
        return NULL;
    if (more_ms > 0)
        extend(call, sandbox, *session, more_ms);
    return make_target(sandbox, *session, operation);
}

void sandbox_live_on(struct sandlot_call *call, void *sandbox)
{
    AUTO_FREE char *session = NULL;

    free(sandbox_target(call, sandbox, "", &session));
}

/* ---- finding and making ---------------------------------------------------------------------------------------- */

/* One whose session is over is started again, unless its files are gone. */
static enum sandlot_status attach(struct sandlot_call *call, struct vercel *vercel, const char *name,
                                  struct record *record)
{
    enum sandlot_status status = record_get(call, vercel, name, record);

    if (status == SANDLOT_OK && (record->phase == PHASE_ENDING || record->phase == PHASE_ENDED)) {
        record_clear(record);
        status = sandbox_start(call, vercel, name, record);
    }
    if (status == SANDLOT_OK)
        call->host->created(call, record->name, record->working_dir);
    return status;
}

enum sandlot_status sandbox_get_or_create(struct sandlot_call *call, void *provider,
                                          const struct sandlot_create *request, void **sandbox)
{
    struct vercel *vercel = provider;
    AUTO_RECORD struct record record = {0};
    struct sandbox *made = NULL;
    enum sandlot_status status = api_open(call, vercel);

    if (status == SANDLOT_OK)
        status = request->sandbox_id ? attach(call, vercel, request->sandbox_id, &record)
                                     : create_sandbox(call, vercel, request, &record);
    if (status == SANDLOT_OK)
        status = open_handle(call, vercel, &record, &made);
    *sandbox = made;
    return status;
}

enum sandlot_status sandbox_ready(struct sandlot_call *call, void *provider, void *handle)
{
    struct sandbox *sandbox = handle;
    AUTO_RECORD struct record record = {0};

    pthread_mutex_lock(&sandbox->lock);
    bool running = sandbox->running;

    pthread_mutex_unlock(&sandbox->lock);
    if (running)
        return SANDLOT_OK;
    enum sandlot_status status = record_get(call, provider, sandbox->name, &record);

    if (status != SANDLOT_OK)
        return status;
    if (record.phase == PHASE_STARTING)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "Vercel's sandbox '%.128s' is %.40s", sandbox->name,
                            record.state);
    if (record.phase != PHASE_RUNNING)
        return sandlot_fail(call, SANDLOT_INTERNAL,
                            "Vercel's sandbox '%.128s' did not start, it is \"%.40s\"; create another one",
                            sandbox->name, record.state);
    return take(call, sandbox, &record);
}

#include "sandbox.h"

#include "create.h"

#include <sandlot/sdk/cleanup.h>

#include <string.h>

enum { WAKE_MS = 90 * 1000 };

/* Another change is under way, or the state has changed meanwhile: the next look tells. */
static const int in_transition[] = {400, 409, 0};

/* ---- states --------------------------------------------------------------------------------------------------- */

/* Orders a change that ends in `started`. */
static enum sandlot_status order(struct sandlot_call *call, struct daytona *daytona, const char *pattern,
                                 const struct record *record)
{
    AUTO_DOCUMENT struct json_object *document = NULL;
    AUTO_RECORD struct record now = {0};
    enum sandlot_status status =
        api_order(call, daytona, "POST", http_target(pattern, record->id), in_transition, NULL, &document);

    if (status == SANDLOT_OK && document)
        status = record_read(call, document, &now);
    return status == SANDLOT_OK && !(document && now.phase == PHASE_STARTED) ? SANDLOT_UNAVAILABLE : status;
}

enum sandlot_status sandbox_start(struct sandlot_call *call, struct daytona *daytona, const struct record *record)
{
    return order(call, daytona, "/sandbox/{}/start", record);
}

/*
 * One step on the way to `started`. MAY_RECOVER: a failure that Daytona can mend is to be mended. That it is not there
 * yet is SANDLOT_UNAVAILABLE without a word: whether this is an error the caller decides.
 */
static enum sandlot_status advance(struct sandlot_call *call, struct daytona *daytona, const struct record *record,
                                   bool may_recover)
{
    switch (record->phase) {
    case PHASE_STARTED:
        return SANDLOT_OK;
    case PHASE_RESTING:
        return sandbox_start(call, daytona, record);
    case PHASE_PASSING:
        return SANDLOT_UNAVAILABLE;
    case PHASE_FAILED:
        if (record->recoverable && may_recover)
            return order(call, daytona, "/sandbox/{}/recover", record);
        return sandlot_fail(call, SANDLOT_INTERNAL,
                            "Daytona's sandbox %s has failed (\"%.40s\"%s%.400s); make another, perhaps from another "
                            "image or snapshot",
                            record->id, record->state, record->reason ? ": " : "",
                            record->reason ? record->reason : "");
    case PHASE_GONE:
    default:
        return sandlot_fail(call, SANDLOT_NOT_FOUND,
                            "Daytona's sandbox %s is gone (\"%.40s\"); sandlot list shows those that exist", record->id,
                            record->state);
    }
}

static enum sandlot_status not_yet(struct sandlot_call *call, const struct record *record)
{
    return sandlot_fail(call, SANDLOT_UNAVAILABLE, "Daytona's sandbox %s is still \"%.40s\"; wait a little", record->id,
                        record->state);
}

enum sandlot_status sandbox_wake(struct sandlot_call *call, struct sandbox *sandbox)
{
    struct pause pause = {.service = "Daytona", .first_ms = 100, .longest_ms = 1000, .limit_ms = WAKE_MS};

    for (;;) {
        AUTO_RECORD struct record record = {0};
        enum sandlot_status status = record_get(call, sandbox->daytona, sandbox->id, &record);

        if (status == SANDLOT_OK)
            status = advance(call, sandbox->daytona, &record, false);
        if (status != SANDLOT_UNAVAILABLE || !record.id)
            return status;
        if (!pause_again(call, &pause, &status))
            return status == SANDLOT_UNAVAILABLE ? not_yet(call, &record) : status;
    }
}

/* The daemon in the sandbox says so of itself, and so it runs; the path that it names may have any word in it. */
static bool is_of_daemon(const struct http_response *response)
{
    AUTO_DOCUMENT struct json_object *document =
        response->body ? json_read_document(response->body, response->length, NULL) : NULL;
    const char *code = NULL;

    if (document)
        json_find_string(document, "code", &code, NULL);
    return json_says(document, "source", "DAYTONA_DAEMON") || (code && strncmp(code, "FILE_", 5) == 0);
}

static bool speaks_of_sandbox(const struct http_response *response)
{
    switch (response->status) {
    case 401: /* said of sandboxes that are not there, and now and then of good keys */
    case 502: /* while it stops and starts */
    case 503:
    case 504:
        return true;
    case 400:
        return http_mentions(response, "container IP") || http_mentions(response, "sandbox started") ||
               http_mentions(response, "sandbox is not");
    case 404:
        return http_mentions(response, "sandbox") && !http_mentions(response, "no such file");
    default:
        return false;
    }
}

bool sandbox_trouble(const struct http_response *response)
{
    return speaks_of_sandbox(response) && !is_of_daemon(response);
}

/* ---- handles -------------------------------------------------------------------------------------------------- */

/* Old servers leave the proxy's address out of the record. */
static enum sandlot_status ask_proxy(struct sandlot_call *call, struct daytona *daytona, const char *id, char **url)
{
    AUTO_DOCUMENT struct json_object *document = NULL;
    struct json_error error;
    const char *text = NULL;
    enum sandlot_status status =
        api_order(call, daytona, "GET", http_target("/sandbox/{}/toolbox-proxy-url", id), NULL, NULL, &document);

    if (status != SANDLOT_OK)
        return status;
    if (!json_read_string(document, "url", &text, &error))
        return json_fail(call, "Daytona's answer about the address of a sandbox", &error);
    *url = strdup(text);
    return *url ? SANDLOT_OK : http_no_memory(call);
}

static enum sandlot_status open_handle(struct sandlot_call *call, struct daytona *daytona, const struct record *record,
                                       bool attached, struct sandbox **made)
{
    AUTO_FREE char *url = NULL;
    struct sandbox *sandbox = calloc(1, sizeof(*sandbox));
    enum sandlot_status status = SANDLOT_OK;

    if (!sandbox)
        return http_no_memory(call);
    sandbox->daytona = daytona;
    sandbox->attached = attached;
    sandbox->ask_working_dir = record->custom;
    sandbox->started = record->phase == PHASE_STARTED;
    sandbox->id = strdup(record->id);
    http_relay_places_init(&sandbox->places);
    json_find_boolean(record->document, "public", &sandbox->is_public, NULL);
    if (!sandbox->id)
        status = http_no_memory(call);
    else if (!record->proxy_url)
        status = ask_proxy(call, daytona, record->id, &url);
    if (status == SANDLOT_OK)
        status = api_toolbox(call, daytona, url ? url : record->proxy_url, &sandbox->toolbox);
    if (status == SANDLOT_OK)
        *made = sandbox;
    else
        sandbox_release(daytona, sandbox);
    return status;
}

/* Whatever state it is in, unless it is gone: bringing it to run is the business of `ready`. */
static enum sandlot_status attach(struct sandlot_call *call, struct daytona *daytona, const char *id,
                                  struct record *record)
{
    enum sandlot_status status = record_get(call, daytona, id, record);

    if (status != SANDLOT_OK)
        return status;
    if (record->phase == PHASE_GONE)
        return advance(call, daytona, record, false);
    call->host->created(call, record->id, NULL);
    return SANDLOT_OK;
}

enum sandlot_status sandbox_get_or_create(struct sandlot_call *call, void *provider,
                                          const struct sandlot_create *request, void **sandbox)
{
    struct daytona *daytona = provider;
    AUTO_RECORD struct record record = {0};
    struct sandbox *made = NULL;
    enum sandlot_status status = request->sandbox_id ? attach(call, daytona, request->sandbox_id, &record)
                                                     : create_sandbox(call, daytona, request, &record);

    if (status == SANDLOT_OK)
        status = open_handle(call, daytona, &record, request->sandbox_id != NULL, &made);
    *sandbox = made;
    return status;
}

/* Where commands start in a sandbox that is none of Daytona's own. */
static enum sandlot_status ask_working_dir(struct sandlot_call *call, struct sandbox *sandbox)
{
    static const int refusals[] = {400, 401, 404, 502, 0};
    AUTO_FREE char *target = http_target("/{}/work-dir", sandbox->id);
    const struct http_request request = {.method = "GET", .target = target, .accepted = refusals};
    AUTO_RESPONSE struct http_response response = {0};
    struct json_error error;
    const char *folder = NULL;
    enum sandlot_status status = http_send(call, sandbox->toolbox, &request, &response);

    if (status != SANDLOT_OK)
        return status;
    if (response.status >= 300)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE,
                            "the toolbox of Daytona's sandbox %s does not answer yet (status %d); wait a little",
                            sandbox->id, response.status);
    AUTO_DOCUMENT struct json_object *document = json_read_document(response.body, response.length, &error);

    if (!document || !json_read_string(document, "dir", &folder, &error))
        return json_fail(call, "Daytona's answer about the working directory", &error);
    if (*folder == '/')
        call->host->created(call, sandbox->id, folder);
    sandbox->ask_working_dir = false;
    return SANDLOT_OK;
}

enum sandlot_status sandbox_ready(struct sandlot_call *call, void *provider, void *handle)
{
    struct sandbox *sandbox = handle;
    AUTO_RECORD struct record record = {0};
    enum sandlot_status status = SANDLOT_OK;

    (void)provider;
    if (!sandbox->started)
        status = record_get(call, sandbox->daytona, sandbox->id, &record);
    if (status == SANDLOT_OK && !sandbox->started) {
        bool may_recover = sandbox->attached && !sandbox->recovered;

        sandbox->recovered |= record.phase == PHASE_FAILED;
        status = advance(call, sandbox->daytona, &record, may_recover);
    }
    if (status == SANDLOT_UNAVAILABLE && record.id)
        return not_yet(call, &record);
    if (status != SANDLOT_OK)
        return status;
    sandbox->started = true;
    return sandbox->ask_working_dir ? ask_working_dir(call, sandbox) : SANDLOT_OK;
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

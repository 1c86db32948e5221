#include "sandbox.h"

#include "listing.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/pause.h>
#include <sandlot/sdk/timestamp.h>

#include <string.h>

/* Nothing can be changed of a sandbox's labels, and a request would be one too many for who attaches. */
#define NOTE "/tmp/.lifetime"

enum {
    CONNECT_MS = 60 * 1000,
    ATTEMPTS = 4,
    FIRST_PAUSE_MS = 250,
    LONGEST_PAUSE_MS = 60 * 1000, /* that the service may ask for */
    FRESH_MS = 2000,              /* a line that was used so lately needs no look */
    MOST_KEPT = 4,
    LEARN_MS = 2000,
    EXTEND_MS = 10 * 1000,
    LEAST_EXTENSION_MS = 1000
};

/* ---- what is noted in a sandbox ---------------------------------------------------------------------------------- */

enum sandlot_status sandbox_note(struct sandlot_call *call, struct sandbox *sandbox, struct line *line)
{
    struct json_builder note = {0};
    struct json_builder params = {0};

    pthread_mutex_lock(&sandbox->lock);
    json_set_integer(&note, "ends", sandbox->lifetime.ends_ms);
    json_set_integer(&note, "rest", sandbox->lifetime.rest_ms);
    json_set_integer(&note, "until", sandbox->lifetime.until_ms);
    json_set_string(&note, "root", sandbox->root);
    pthread_mutex_unlock(&sandbox->lock);
    AUTO_FREE char *text = json_finish(&note, NULL);

    json_set_string(&params, "path", NOTE);
    json_set_string(&params, "content", text);
    /* Nobody waits for the answer: without a note the sandbox ends at its time, which was told. */
    return line_ask(call, line, "writeTextFile", &params, NULL);
}

static void read_note(struct sandbox *sandbox, struct json_object *note)
{
    const char *root = "";

    json_find_integer(note, "ends", &sandbox->lifetime.ends_ms, NULL);
    json_find_integer(note, "rest", &sandbox->lifetime.rest_ms, NULL);
    json_find_integer(note, "until", &sandbox->lifetime.until_ms, NULL);
    json_find_string(note, "root", &root, NULL);
    snprintf(sandbox->root, sizeof(sandbox->root), "%s", root);
}

/* Of the answer to the question for the note. Without one somebody else has made the sandbox, and cares for its life.
 */
static void take_note(void *context, const struct line_message *answer)
{
    struct sandbox *sandbox = context;
    bool said = json_object_is_type(answer->ok, json_type_string);
    AUTO_DOCUMENT struct json_object *note =
        said ? json_read_document(json_object_get_string(answer->ok), (size_t)json_object_get_string_len(answer->ok),
                                  NULL)
             : NULL;

    pthread_mutex_lock(&sandbox->lock);
    if (note && !sandbox->known)
        read_note(sandbox, note);
    sandbox->known = true;
    pthread_mutex_unlock(&sandbox->lock);
}

/* Asks for the note; whoever waits for something else on the line hears of it by the way. */
static enum sandlot_status ask_for_note(struct sandlot_call *call, struct sandbox *sandbox, struct line *line)
{
    struct json_builder params = {0};

    pthread_mutex_lock(&sandbox->lock);
    bool known = sandbox->known;

    pthread_mutex_unlock(&sandbox->lock);
    if (known)
        return SANDLOT_OK;
    line->take = take_note;
    json_set_string(&params, "path", NOTE);
    return line_ask(call, line, "readTextFile", &params, &line->awaited);
}

enum sandlot_status sandbox_learn(struct sandlot_call *call, struct line *line)
{
    struct attempt attempt;
    struct line_message message;
    enum sandlot_status status = SANDLOT_OK;

    attempt_begin(&attempt, call, LEARN_MS);
    while (status == SANDLOT_OK && line->awaited >= 0)
        status = line_look(&attempt.call, line, line->timer_fd, &message);
    return status == SANDLOT_OK ? status : attempt_fail(&attempt, status);
}

/* ---- living on --------------------------------------------------------------------------------------------------- */

/* Until when the sandbox is to live now; 0: long enough already. */
static int64_t wanted_end(const struct sandbox *sandbox)
{
    const struct lifetime *lifetime = &sandbox->lifetime;
    int64_t now_ms = timestamp_now();
    int64_t wanted_ms =
        now_ms + lifetime->rest_ms < lifetime->until_ms ? now_ms + lifetime->rest_ms : lifetime->until_ms;

    if (!sandbox->known || lifetime->ends_ms == 0 || now_ms < lifetime->again_ms ||
        lifetime->ends_ms - now_ms >= lifetime->rest_ms / 2 || wanted_ms < lifetime->ends_ms + LEAST_EXTENSION_MS)
        return 0;
    return wanted_ms;
}

static enum sandlot_status send_extension(struct sandlot_call *call, struct sandbox *sandbox, int64_t *ends_ms)
{
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct json_builder body = {0};

    json_set_integer(&body, "stop_at_ms", *ends_ms);
    const struct rest_request request = {
        .method = "PATCH", .target = http_target("/api/v3/sandbox/{}", sandbox->id), .body = &body, .repeatable = true};
    enum sandlot_status status = rest_send(call, sandbox->client, &request, &response, &answer);

    if (status == SANDLOT_OK && answer)
        json_find_integer(answer, "stop_at_ms", ends_ms, NULL);
    return status;
}

/* Whatever comes of it, what the sandbox is wanted for is done. */
static void live_on(struct sandlot_call *call, void *context, struct line *line)
{
    struct sandbox *sandbox = context;
    struct attempt attempt;

    pthread_mutex_lock(&sandbox->lock);
    int64_t before_ms = sandbox->lifetime.ends_ms;
    int64_t ends_ms = wanted_end(sandbox);

    if (ends_ms > 0)
        sandbox->lifetime.ends_ms = ends_ms; /* others need not ask for it too */
    pthread_mutex_unlock(&sandbox->lock);
    if (ends_ms == 0)
        return;
    attempt_begin(&attempt, call, EXTEND_MS);
    enum sandlot_status status = send_extension(&attempt.call, sandbox, &ends_ms);
    bool refused = status == SANDLOT_INVALID_ARGUMENT || status == SANDLOT_UNSUPPORTED || status == SANDLOT_AUTH;

    pthread_mutex_lock(&sandbox->lock);
    sandbox->lifetime.ends_ms = status == SANDLOT_OK ? ends_ms : refused ? 0 : before_ms;
    if (status != SANDLOT_OK) /* while this is asked for, what the sandbox is wanted for stands still */
        sandbox->lifetime.again_ms = timestamp_now() + (before_ms - timestamp_now()) / 4;
    pthread_mutex_unlock(&sandbox->lock);
    if (refused)
        call->host->log(call, SANDLOT_LOG_WARNING,
                        "Deno does not let this sandbox live longer; it will end when its time is up");
    if (status == SANDLOT_OK && !line->broken)
        sandbox_note(&attempt.call, sandbox, line);
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

bool sandbox_try_again(struct sandlot_call *call, enum sandlot_status status, const struct http_response *answer,
                       int attempt)
{
    int64_t pause_ms = answer->retry_ms >= 0 && answer->status ? answer->retry_ms : FIRST_PAUSE_MS << attempt;
    bool passing = status == SANDLOT_UNAVAILABLE || status == SANDLOT_TIMEOUT || status == SANDLOT_INTERNAL;

    /* Sandboxes that are too many do not end by waiting, unless the service says when. */
    if (status == SANDLOT_EXHAUSTED)
        passing = answer->retry_ms >= 0;
    if (!passing || attempt + 1 >= ATTEMPTS || pause_ms > LONGEST_PAUSE_MS ||
        (call->deadline_ms != 0 && call->deadline_ms - sandlot_now_ms() <= pause_ms))
        return false;
    return pause_for(call, pause_ms);
}

/* That there is no such sandbox is not always said by 404. */
static enum sandlot_status fail_connecting(const struct attempt *attempt, const struct sandbox *sandbox,
                                           enum sandlot_status status)
{
    bool gone = status == SANDLOT_NOT_FOUND;

    if (status == SANDLOT_INVALID_ARGUMENT)
        listing_look(attempt->outer, sandbox->deno, sandbox->id, &gone);
    if (gone)
        return sandlot_fail(attempt->outer, SANDLOT_NOT_FOUND,
                            "Deno has no sandbox '%s' (any more): it lives half an hour at most after its last use; "
                            "create another one",
                            sandbox->id);
    return attempt_fail(attempt, status);
}

static enum sandlot_status connect_to(struct sandlot_call *call, struct sandbox *sandbox, struct line **line)
{
    AUTO_FREE char *target = http_target("/api/v3/sandbox/{}/connect", sandbox->id);

    for (int i = 0;; i++) {
        AUTO_RESPONSE struct http_response answer = {0};
        struct attempt attempt;

        attempt_begin(&attempt, call, CONNECT_MS);
        enum sandlot_status status = line_open(&attempt.call, sandbox->client, target, NULL, &answer, line);

        if (status == SANDLOT_OK)
            return ask_for_note(call, sandbox, *line);
        if (!sandbox_try_again(call, status, &answer, i))
            return fail_connecting(&attempt, sandbox, status);
    }
}

static struct line *take_idle(struct sandbox *sandbox)
{
    pthread_mutex_lock(&sandbox->lock);
    struct line *line = sandbox->idle;

    if (line)
        sandbox->idle = line->next;
    pthread_mutex_unlock(&sandbox->lock);
    return line;
}

enum sandlot_status sandbox_take(struct sandlot_call *call, struct sandbox *sandbox, struct line **line)
{
    enum sandlot_status status = SANDLOT_OK;

    for (*line = take_idle(sandbox); *line; *line = take_idle(sandbox)) {
        if (sandlot_now_ms() - (*line)->heard_ms < FRESH_MS || line_is_alive(call, *line))
            break;
        line_free(*line);
    }
    if (!*line)
        status = connect_to(call, sandbox, line);
    if (status != SANDLOT_OK) {
        line_free(*line);
        *line = NULL;
        return status;
    }
    (*line)->heard_ms = sandlot_now_ms();
    (*line)->context = sandbox;
    (*line)->tick = live_on;
    return SANDLOT_OK;
}

static void keep(struct sandbox *sandbox, struct line *line)
{
    int kept = 0;

    pthread_mutex_lock(&sandbox->lock);
    for (const struct line *other = sandbox->idle; other; other = other->next)
        kept++;
    if (!line->broken && kept < MOST_KEPT) {
        line->next = sandbox->idle;
        sandbox->idle = line;
        line = NULL;
    }
    pthread_mutex_unlock(&sandbox->lock);
    line_free(line);
}

void sandbox_give(struct sandlot_call *call, struct sandbox *sandbox, struct line *line)
{
    struct attempt attempt;

    if (!line)
        return;
    attempt_begin(&attempt, call, 0); /* what fails here is nobody's failure */
    if (!line->broken && !sandlot_cancelled(call)) {
        sandbox_learn(&attempt.call, line);
        live_on(&attempt.call, sandbox, line);
    }
    keep(sandbox, line);
}

void sandbox_live_on(struct sandlot_call *call, void *handle)
{
    struct sandbox *sandbox = handle;
    struct line *line;

    pthread_mutex_lock(&sandbox->lock);
    bool due = wanted_end(sandbox) > 0;

    pthread_mutex_unlock(&sandbox->lock);
    if (due && sandbox_take(call, sandbox, &line) == SANDLOT_OK)
        sandbox_give(call, sandbox, line);
}

/* ---- handles ----------------------------------------------------------------------------------------------------- */

struct sandbox *sandbox_new(struct deno *deno, struct http_client *client, const char *id, struct line *line)
{
    struct sandbox *sandbox = calloc(1, sizeof(*sandbox));

    if (!sandbox) {
        line_free(line);
        return NULL;
    }
    sandbox->deno = deno;
    sandbox->client = client;
    sandbox->idle = line;
    snprintf(sandbox->id, sizeof(sandbox->id), "%s", id);
    pthread_mutex_init(&sandbox->lock, NULL);
    http_relay_places_init(&sandbox->places);
    return sandbox;
}

void sandbox_release(void *provider, void *handle)
{
    struct sandbox *sandbox = handle;

    (void)provider;
    if (!sandbox)
        return;
    while (sandbox->idle)
        line_free(take_idle(sandbox));
    pthread_mutex_destroy(&sandbox->lock);
    http_relay_places_clear(&sandbox->places);
    free(sandbox);
}

enum sandlot_status sandbox_attach(struct sandlot_call *call, struct deno *deno, const char *id,
                                   struct sandbox **sandbox)
{
    struct http_client *client;
    struct line *line;
    enum sandlot_status status = api_region_of(call, deno, id, &client);
    struct sandbox *made = status == SANDLOT_OK ? sandbox_new(deno, client, id, NULL) : NULL;

    if (status != SANDLOT_OK || !made)
        return status != SANDLOT_OK ? status : http_no_memory(call);
    status = sandbox_take(call, made, &line);
    if (status == SANDLOT_OK) {
        keep(made, line);
        *sandbox = made;
    } else {
        sandbox_release(deno, made);
    }
    return status;
}

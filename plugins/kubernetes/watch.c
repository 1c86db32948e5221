#include "watch.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/ndjson.h>
#include <sandlot/sdk/pause.h>

#include <string.h>

enum { LONGEST_EVENT = 4 << 20, GRACE_MS = 3000, PAUSE_MS = 200, LONGEST_PAUSE_MS = 2000 };

/* One stream of events. */
struct stream {
    struct watch *watch;
    struct sandlot_call *call;
    struct ndjson reader;
    enum sandlot_status verdict; /* SANDLOT_UNAVAILABLE: none yet */
    bool too_old;
};

static bool keep_version(struct watch *watch, struct json_object *object)
{
    const char *version = api_text(object, "metadata.resourceVersion");

    if (!version)
        return true;
    char *copy = strdup(version);

    if (!copy)
        return false;
    free(*watch->version);
    *watch->version = copy;
    return true;
}

static void forget_version(struct watch *watch)
{
    free(*watch->version);
    *watch->version = NULL;
}

static enum sandlot_status gone(struct sandlot_call *call, const struct watch *watch)
{
    return sandlot_fail(call, SANDLOT_NOT_FOUND,
                        "Kubernetes has no %s %.100s any more: somebody deleted it; make another", watch->plural,
                        watch->name);
}

static enum sandlot_status take_event(void *context, struct json_object *event)
{
    struct stream *stream = context;
    struct json_object *object =
        json_object_is_type(event, json_type_object) ? json_object_object_get(event, "object") : NULL;
    const char *type = object ? api_text(event, "type") : NULL;

    if (!type || !json_object_is_type(object, json_type_object))
        return sandlot_fail(stream->call, SANDLOT_INTERNAL, "Kubernetes sent an event that is none");
    if (strcmp(type, "ERROR") == 0) {
        stream->too_old = true; /* whatever it is: a look at the object tells more */
        stream->reader.finished = true;
        return SANDLOT_OK;
    }
    if (!keep_version(stream->watch, object))
        return http_no_memory(stream->call);
    if (strcmp(type, "BOOKMARK") == 0)
        return SANDLOT_OK;
    stream->verdict = strcmp(type, "DELETED") == 0 ? gone(stream->call, stream->watch)
                                                   : stream->watch->judge(stream->call, stream->watch->context, object);
    stream->reader.finished = stream->verdict != SANDLOT_UNAVAILABLE;
    return SANDLOT_OK;
}

static char *make_target(const struct watch *watch, int window_ms)
{
    char *target = api_path(watch->kubernetes, watch->group, watch->plural, NULL);
    AUTO_FREE char *selector = NULL;
    char seconds[16];

    if (asprintf(&selector, "metadata.name=%s", watch->name) < 0) {
        selector = NULL;
        free(target);
        return NULL;
    }
    snprintf(seconds, sizeof(seconds), "%d", (window_ms + 999) / 1000);
    if (target && http_target_add(&target, "watch", "1") && http_target_add(&target, "fieldSelector", selector) &&
        http_target_add(&target, "resourceVersion", *watch->version) &&
        http_target_add(&target, "allowWatchBookmarks", "true") && http_target_add(&target, "timeoutSeconds", seconds))
        return target;
    return NULL;
}

/* Listens to one stream. SANDLOT_UNAVAILABLE: it ended, or broke, or never was. */
static enum sandlot_status listen_once(struct sandlot_call *call, struct watch *watch, int window_ms)
{
    static const int too_old[] = {410, 0};
    AUTO_RESPONSE struct http_response response = {0};
    struct attempt attempt;
    struct stream stream = {.watch = watch, .verdict = SANDLOT_UNAVAILABLE};

    attempt_begin(&attempt, call, window_ms + GRACE_MS);
    stream.call = &attempt.call;
    ndjson_init(&stream.reader, &attempt.call, LONGEST_EVENT, take_event, &stream);
    struct api_request request = {.method = "GET",
                                  .target = make_target(watch, window_ms),
                                  .accepted = too_old,
                                  .sink = &stream.reader.sink,
                                  .enough = &stream.reader.finished,
                                  .silence_ms = -1};
    enum sandlot_status status = api_send(&attempt.call, watch->kubernetes, &request, &response, NULL);

    ndjson_clear(&stream.reader);
    if (response.status == 410 || stream.too_old)
        forget_version(watch);
    if (stream.verdict == SANDLOT_OK)
        return SANDLOT_OK;
    if (stream.verdict != SANDLOT_UNAVAILABLE)
        return attempt_fail(&attempt, stream.verdict);
    if (status == SANDLOT_OK || status == SANDLOT_UNAVAILABLE || status == SANDLOT_INTERNAL ||
        status == SANDLOT_TIMEOUT) /* whose time is over tells what was waited for */
        return SANDLOT_UNAVAILABLE;
    return attempt_fail(&attempt, status);
}

/* The object as it is. */
static enum sandlot_status look(struct sandlot_call *call, struct watch *watch)
{
    AUTO_DOCUMENT struct json_object *object = NULL;
    struct api_request request = {.method = "GET",
                                  .target = api_path(watch->kubernetes, watch->group, watch->plural, watch->name)};
    struct attempt attempt;

    attempt_begin(&attempt, call, 0);
    enum sandlot_status status = api_send(&attempt.call, watch->kubernetes, &request, NULL, &object);

    if (status == SANDLOT_NOT_FOUND)
        return gone(call, watch);
    if (status != SANDLOT_OK)
        return attempt_fail(&attempt, status);
    if (!keep_version(watch, object))
        return http_no_memory(call);
    return watch->judge(call, watch->context, object);
}

enum sandlot_status watch_object(struct sandlot_call *call, struct watch *watch, int window_ms, bool *pending)
{
    int64_t end_ms = sandlot_now_ms() + window_ms;
    int pause_ms = PAUSE_MS;

    *pending = false;
    for (;;) {
        int left_ms = (int)(end_ms - sandlot_now_ms());
        bool known = *watch->version != NULL;

        left_ms = sandlot_remaining_ms(call, left_ms);
        if (left_ms <= 0) {
            *pending = true;
            return SANDLOT_UNAVAILABLE;
        }
        int64_t begun_ms = sandlot_now_ms();
        enum sandlot_status status = known ? listen_once(call, watch, left_ms) : look(call, watch);

        if (status != SANDLOT_UNAVAILABLE)
            return status;
        if (known && sandlot_now_ms() - begun_ms > PAUSE_MS)
            pause_ms = PAUSE_MS; /* it was no refusal */
        if (known && !pause_for(call, pause_ms) && sandlot_cancelled(call))
            return sandlot_fail(call, SANDLOT_CANCELLED, "the wait for %.100s was cancelled; try again", watch->name);
        pause_ms = pause_ms * 2 < LONGEST_PAUSE_MS ? pause_ms * 2 : LONGEST_PAUSE_MS;
    }
}

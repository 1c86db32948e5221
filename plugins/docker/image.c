#include "image.h"

#include "registry.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/ndjson.h>

#include <string.h>

enum { LONGEST_LINE = 1 << 20, STALL_MS = 10 * 60 * 1000 };

bool image_split(const char *image, char **repository, char **tag)
{
    const char *digest = strchr(image, '@');
    const char *last = strrchr(image, '/');
    const char *colon = strchr(last ? last : image, ':');
    const char *end = digest ? digest : colon;

    *repository = end ? strndup(image, (size_t)(end - image)) : strdup(image);
    *tag = strdup(end ? end + 1 : "latest");
    return *repository && *tag;
}

enum sandlot_status image_look(struct sandlot_call *call, struct docker *docker, const char *image, bool *there)
{
    static const int not_there[] = {404, 0};
    const struct engine_order order = {
        .method = "GET", .target = http_target("/images/{}/json", image), .accepted = not_there};
    int code = 0;
    enum sandlot_status status = engine_order(call, docker, &order, &code, NULL, NULL);

    *there = code != 404;
    return status;
}

/* ---- pulling ----------------------------------------------------------------------------------------------------- */

struct pull {
    struct sandlot_call *call;
    struct ndjson reader;
    char error[ENGINE_SAID]; /* in the stream: the engine has begun to answer before it knew */
};

static enum sandlot_status on_line(void *context, struct json_object *line)
{
    struct pull *pull = context;
    const char *error = NULL;
    const char *what = NULL;
    const char *layer = NULL;
    int64_t done = 0;
    int64_t total = 0;
    char text[160];

    json_find_string(line, "error", &error, NULL);
    json_find_string(line, "errorDetail.message", &error, NULL);
    json_find_string(line, "status", &what, NULL);
    json_find_string(line, "id", &layer, NULL);
    json_find_integer(line, "progressDetail.current", &done, NULL);
    json_find_integer(line, "progressDetail.total", &total, NULL);
    if (error && *error)
        snprintf(pull->error, sizeof(pull->error), "%s", error);
    if (!what || !layer)
        return SANDLOT_OK;
    /* Podman mostly knows no numbers: that something goes on is told all the same. */
    snprintf(text, sizeof(text), "pulling the image: %.80s %.40s", what, layer);
    pull->call->host->progress(pull->call, text, done > 0 ? (uint64_t)done : 0, total > 0 ? (uint64_t)total : 0);
    return SANDLOT_OK;
}

/* What registries say, in whatever words, comes as the engine's text. */
static enum sandlot_status status_of(const char *said)
{
    if (engine_says(said, "toomanyrequests") || engine_says(said, "rate limit"))
        return SANDLOT_EXHAUSTED;
    if (engine_says(said, "unauthorized") || engine_says(said, "denied") || engine_says(said, "authentication") ||
        engine_says(said, "auth credentials"))
        return SANDLOT_AUTH;
    if (engine_says(said, "unknown") || engine_says(said, "not found") || engine_says(said, "not known") ||
        engine_says(said, "invalid reference") || engine_says(said, "no matching manifest"))
        return SANDLOT_INVALID_ARGUMENT;
    return engine_says(said, "no space") ? SANDLOT_EXHAUSTED : SANDLOT_UNAVAILABLE;
}

static enum sandlot_status refuse_login(struct sandlot_call *call, const char *image, const char *said,
                                        const struct registry_login *login)
{
    return sandlot_fail(call, SANDLOT_AUTH,
                        login->header ? "the image %.200s could not be pulled: %.250s; these are the credentials from "
                                        "%.200s: log in anew with docker login %.100s, or check the image's name"
                                      : "the image %.200s could not be pulled: %.250s; no credentials came from "
                                        "%.200s: log in with docker login %.100s, or check the image's name",
                        image, said, login->origin, login->registry);
}

static enum sandlot_status fail_pull(struct sandlot_call *call, const char *image, const char *said,
                                     const struct registry_login *login)
{
    enum sandlot_status status = status_of(said);

    if (status == SANDLOT_AUTH)
        return refuse_login(call, image, said, login);
    return sandlot_fail(call, status, "the image %.200s could not be pulled: %.300s; %s", image,
                        *said ? said : "the engine does not say why",
                        status == SANDLOT_EXHAUSTED ? "log in with docker login, try later, or free some disk space"
                        : status == SANDLOT_INVALID_ARGUMENT ? "check its name and tag"
                                                             : "check that the engine reaches the registry");
}

static char *target_of(const struct docker *docker, const char *image)
{
    AUTO_FREE char *repository = NULL;
    AUTO_FREE char *tag = NULL;
    const char *platform = docker->parameters.platform;

    if (!image_split(image, &repository, &tag))
        return NULL;
    char *target = http_target("/images/create?fromImage={}&tag={}", repository, tag);

    http_target_add(&target, "platform", parameter_is_said(platform) ? platform : NULL);
    return target;
}

enum sandlot_status image_pull(struct sandlot_call *call, struct docker *docker, const char *image)
{
    struct pull pull = {.call = call};
    AUTO_FREE char *target = target_of(docker, image);
    AUTO_LOGIN struct registry_login login = {0};
    AUTO_RESPONSE struct http_response response = {0};
    struct attempt attempt;
    enum sandlot_status status = registry_find(call, image, &login);
    const char *const headers[] = {login.header, NULL};

    if (status != SANDLOT_OK || !target)
        return target ? status : engine_no_memory(call);
    call->host->progress(call, "pulling the image", 0, 0);
    ndjson_init(&pull.reader, call, LONGEST_LINE, on_line, &pull);
    const struct http_request request = {.method = "POST",
                                         .target = target,
                                         .headers = login.header ? headers : NULL,
                                         .repeatable = true,
                                         .sink = &pull.reader.sink,
                                         .silence_ms = STALL_MS};

    attempt_begin(&attempt, call, 0);
    status = engine_send(&attempt.call, docker, &request, &response);
    if (status == SANDLOT_OK)
        status = ndjson_end(&pull.reader);
    ndjson_clear(&pull.reader);
    if (response.status >= 400) /* it knew before it began to answer */
        http_error_text(response.body ? response.body : "", response.length, pull.error, sizeof(pull.error));
    if (response.status >= 400 || *pull.error)
        return fail_pull(call, image, pull.error, &login);
    return status == SANDLOT_OK ? status : attempt_fail(&attempt, status);
}

#include "engine.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/pause.h>

#include <string.h>

enum { OLDEST_MINOR = 40, NEWEST_MINOR = 51, PING_MS = 30 * 1000 };

static const char service[] = "the container engine";

const int engine_refusals[] = {304, 400, 404, 409, 500, 0};

enum sandlot_status engine_no_memory(struct sandlot_call *call)
{
    return sandlot_fail(call, SANDLOT_INTERNAL,
                        "there is not enough memory for a request to the container engine; free some");
}

bool engine_says(const char *text, const char *words)
{
    return strcasestr(text, words);
}

void engine_init(struct docker *docker, const struct parameters *parameters)
{
    docker->parameters = *parameters;
    pthread_mutex_init(&docker->lock, NULL);
}

void engine_clear(struct docker *docker)
{
    http_client_close(docker->client);
    ssh_clear(&docker->ssh);
    address_clear(&docker->address);
    pthread_mutex_destroy(&docker->lock);
}

/* ---- meeting it -------------------------------------------------------------------------------------------------- */

static enum sandlot_status open_client(struct sandlot_call *call, struct docker *docker)
{
    const struct address *address = &docker->address;
    bool by_ssh = address->ssh;
    const struct http_tls tls = {.authorities = address->ca, .certificate = address->certificate, .key = address->key};
    const struct http_options options = {
        .service = service,
        .base_url = address->base_url,
        .tls = &tls,
        .unix_socket = address->socket,
        .direct = true,
        .user_agent = "sandlot",
        .dial = by_ssh ? ssh_dial : NULL,
        .hang_up = by_ssh ? ssh_hang_up : NULL,
        .dial_context = &docker->ssh,
        .connect_ms = 30 * 1000,
    };

    return http_client_open(call, &options, &docker->client);
}

static enum sandlot_status find(struct sandlot_call *call, struct docker *docker)
{
    if (docker->client)
        return SANDLOT_OK;
    address_clear(&docker->address);
    ssh_clear(&docker->ssh);
    docker->ssh = (struct ssh){0};
    enum sandlot_status status = address_find(call, &docker->parameters, &docker->address);

    if (status == SANDLOT_OK && docker->address.ssh && !ssh_init(&docker->ssh, docker->address.ssh))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "the address %.200s of the container engine has a path that cannot be passed on; use one "
                            "of letters, digits and \"/\", \".\", \"_\", \"-\"",
                            docker->address.said);
    return status == SANDLOT_OK ? open_client(call, docker) : status;
}

/* The minor number of "1.41"; -1: it is no version. */
static int minor_of(const char *version)
{
    char *end;

    if (!version || strncmp(version, "1.", 2) != 0 || !version[2])
        return -1;
    long minor = strtol(version + 2, &end, 10);

    return *end == '\0' && minor >= 0 && minor < 1000 ? (int)minor : -1;
}

static enum sandlot_status agree(struct sandlot_call *call, struct docker *docker, const char *theirs)
{
    const char *pinned = call->host->environment(call, "DOCKER_API_VERSION");
    int minor = minor_of(pinned ? pinned : theirs);

    if (pinned && minor < 0)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "DOCKER_API_VERSION is \"%.40s\", which is no version as 1.41; correct or unset it",
                            pinned);
    if (minor < 0)
        return sandlot_fail(call, SANDLOT_INTERNAL,
                            "what answers at %.200s is no container engine, or does not say which version of the API "
                            "it has; check the address",
                            docker->address.said);
    if (pinned && minor < OLDEST_MINOR)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "DOCKER_API_VERSION asks for version 1.%d of the API, and Sandlot speaks 1.%d and later; "
                            "raise or unset it",
                            minor, OLDEST_MINOR);
    if (minor < OLDEST_MINOR)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "the container engine speaks version 1.%d of the API, and Sandlot 1.%d and later; update "
                            "the engine",
                            minor, OLDEST_MINOR);
    snprintf(docker->version, sizeof(docker->version), "1.%d", minor < NEWEST_MINOR || pinned ? minor : NEWEST_MINOR);
    return SANDLOT_OK;
}

/* Of ssh only the program itself knows why there is no connection. */
static enum sandlot_status fail_by_ssh(struct sandlot_call *call, struct docker *docker, const struct attempt *attempt,
                                       enum sandlot_status status)
{
    const char *reason = docker->address.ssh ? ssh_reason(&docker->ssh) : "";

    if (status != SANDLOT_UNAVAILABLE || *reason == '\0')
        return attempt_fail(attempt, status);
    return sandlot_fail(call, engine_says(reason, "permission denied") ? SANDLOT_AUTH : status,
                        "%.200s cannot be reached: %.300s; see that ssh and docker work there without a question",
                        docker->address.said, reason);
}

static enum sandlot_status ping(struct sandlot_call *call, struct docker *docker)
{
    AUTO_RESPONSE struct http_response response = {0};
    const struct http_request request = {.method = "GET", .target = "/_ping", .timeout_ms = PING_MS};
    struct attempt attempt;

    attempt_begin(&attempt, call, 0);
    enum sandlot_status status = http_send(&attempt.call, docker->client, &request, &response);

    if (status != SANDLOT_OK)
        return fail_by_ssh(call, docker, &attempt, status);
    docker->podman = http_header(&response, "Libpod-API-Version");
    return agree(call, docker, http_header(&response, "API-Version"));
}

enum sandlot_status engine_meet(struct sandlot_call *call, struct docker *docker)
{
    if (!pause_until_locked(call, &docker->lock))
        return sandlot_fail(call, sandlot_cancelled(call) ? SANDLOT_CANCELLED : SANDLOT_TIMEOUT,
                            "the container engine did not answer in time; try again");
    enum sandlot_status status = find(call, docker);

    if (status == SANDLOT_OK && !*docker->version)
        status = ping(call, docker);
    pthread_mutex_unlock(&docker->lock);
    return status;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

char *engine_target(const struct docker *docker, char *target)
{
    char *versioned = NULL;

    if (target && asprintf(&versioned, "/v%s%s", docker->version, target) < 0)
        versioned = NULL;
    free(target);
    return versioned;
}

enum sandlot_status engine_send(struct sandlot_call *call, struct docker *docker, const struct http_request *request,
                                struct http_response *response)
{
    AUTO_FREE char *target = engine_target(docker, request->target ? strdup(request->target) : NULL);
    struct http_request sent = *request;

    sent.target = target;
    return http_send(call, docker->client, &sent, response);
}

static enum sandlot_status send_order(struct sandlot_call *call, struct docker *docker,
                                      const struct engine_order *order, const char *target,
                                      struct http_response *response)
{
    const struct http_request request = {
        .method = order->method,
        .target = target,
        .headers = order->headers,
        .body = {.bytes = order->body, .length = order->body ? strlen(order->body) : 0},
        .repeatable = !order->once,
        .never_repeat = order->once,
        .accepted = order->accepted,
        .timeout_ms = order->timeout_ms,
        .silence_ms = order->slow ? -1 : 0};
    enum sandlot_status status = engine_meet(call, docker);

    return status == SANDLOT_OK ? engine_send(call, docker, &request, response) : status;
}

/* Go writes a list that has no memory of its own yet as null. */
static bool says_nothing(const struct http_response *response)
{
    const char *body = response->body;

    return !body || !*body || strcmp(body, "null") == 0 || strcmp(body, "null\n") == 0;
}

enum sandlot_status engine_order(struct sandlot_call *call, struct docker *docker, const struct engine_order *order,
                                 int *code, struct json_object **answer, char *said)
{
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_FREE char *target = order->target;
    AUTO_FREE char *body = order->body;
    struct json_error error;
    enum sandlot_status status = send_order(call, docker, order, target, &response);

    if (code)
        *code = response.status;
    if (said)
        http_error_text(response.body ? response.body : "", response.length, said, ENGINE_SAID);
    if (status != SANDLOT_OK || !answer || response.status > 299 || says_nothing(&response))
        return status;
    *answer = json_read_document(response.body, response.length, &error);
    return *answer ? SANDLOT_OK : json_fail(call, "the container engine's answer", &error);
}

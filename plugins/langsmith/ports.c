#include "operations.h"

#include <sandlot/sdk/text_format.h>
#include <sandlot/sdk/timestamp.h>

#include <string.h>

enum { SECOND_MS = 1000, LONGEST_S = 24 * 60 * 60, REFUSED = 400, GONE = 404, GRANTED = 409, NOT_SET_UP = 501 };

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static enum sandlot_status ask_once(struct sandlot_call *call, const struct sandbox *sandbox, uint16_t port,
                                    int64_t ttl_ms, struct api_answer *answer)
{
    static const int expected[] = {REFUSED, GONE, GRANTED, NOT_SET_UP, 0};
    struct json_builder body = {0};
    int64_t seconds = (ttl_ms + SECOND_MS - 1) / SECOND_MS;

    json_set_integer(&body, "port", port);
    if (seconds > 0)
        json_set_integer(&body, "expires_in_seconds", seconds < LONGEST_S ? seconds : LONGEST_S);
    const struct api_request request = {.method = "POST",
                                        .target = http_target("/boxes/{}/service-url", sandbox->name),
                                        .body = &body,
                                        .repeatable = true,
                                        .expected = expected};

    return api_send(call, sandbox->api, &request, answer);
}

/* Asks again, once it is awake, if the sandbox seems to sleep. */
static enum sandlot_status ask(struct sandlot_call *call, struct sandbox *sandbox, uint16_t port, int64_t ttl_ms,
                               struct api_answer *answer)
{
    enum sandlot_status status = ask_once(call, sandbox, port, ttl_ms, answer);

    if (status != SANDLOT_OK || answer->status != REFUSED)
        return status;
    api_answer_clear(answer);
    sandbox_seen_asleep(sandbox);
    status = sandbox_wake(call, sandbox);
    return status == SANDLOT_OK ? ask_once(call, sandbox, port, ttl_ms, answer) : status;
}

static enum sandlot_status refuse(struct sandlot_call *call, const struct sandbox *sandbox, uint16_t port,
                                  const struct api_answer *answer)
{
    switch (answer->status) {
    case GONE:
        return sandbox_not_there(call, sandbox->name);
    case GRANTED:
        return sandlot_fail(
            call, SANDLOT_UNSUPPORTED,
            "port %u of the sandbox '%s' is open to people who log in to LangSmith, and nothing else gets "
            "in while that is so; take that grant back there",
            (unsigned)port, sandbox->name);
    case NOT_SET_UP:
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "this deployment of LangSmith has no URLs for the ports of sandboxes; ask its operator");
    default:
        return api_refuse(call, answer, "a URL of the port");
    }
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

static enum sandlot_status no_memory(struct sandlot_call *call)
{
    return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for the URL of a port; free some");
}

/* Without the slash at its end. */
static enum sandlot_status set_url(struct sandlot_call *call, const char *url, struct http_relay_place *place)
{
    const char *scheme = strstr(url, "://");
    size_t length = scheme ? (size_t)(scheme + 3 - url) : 0;

    length += strcspn(url + length, "/");
    if (url[length + strspn(url + length, "/")] != '\0')
        return sandlot_fail(
            call, SANDLOT_UNSUPPORTED,
            "LangSmith has the port below a path, \"%.200s\", and only whole hosts can be passed on; use "
            "the address itself",
            url);
    place->url = strndup(url, length);
    return place->url ? SANDLOT_OK : no_memory(call);
}

static enum sandlot_status read_answer(struct sandlot_call *call, const struct api_answer *answer,
                                       struct http_relay_place *place)
{
    struct json_error error = {0};
    const char *url = NULL;
    const char *token = NULL;
    const char *expires = NULL;
    enum sandlot_status status = api_want_document(call, answer, "LangSmith's answer about a port");

    if (status != SANDLOT_OK)
        return status;
    if (!json_read_string(answer->document, "service_url", &url, &error) ||
        !json_read_string(answer->document, "token", &token, &error) ||
        !json_find_string(answer->document, "expires_at", &expires, &error))
        return json_fail(call, "LangSmith's answer about a port", &error);
    place->expires_at_ms = timestamp_read(expires);
    if (!(place->header = text_format("X-Langsmith-Sandbox-Service-Token: %s", token)))
        return no_memory(call);
    return set_url(call, url, place);
}

enum sandlot_status ports_find(struct sandlot_call *call, void *provider, void *handle, uint16_t port, int64_t ttl_ms,
                               struct http_relay_place *place)
{
    const struct api *api = provider;
    AUTO_ANSWER struct api_answer answer = {0};
    enum sandlot_status status = ask(call, handle, port, ttl_ms, &answer);

    place->client = api->client;
    if (status == SANDLOT_OK && answer.status >= REFUSED)
        return refuse(call, handle, port, &answer);
    return status == SANDLOT_OK ? read_answer(call, &answer, place) : status;
}

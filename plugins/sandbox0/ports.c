/*
 * A port has a URL as a service of the sandbox, which lets in who sends a header that we choose: Sandbox0 keeps its
 * digest. The value is made of the key, so whoever has that gets in by the same one, and nothing has to be kept. (A
 * preview would set a cookie for one browser, and forgets all when the sandbox sleeps.)
 *
 * Services are only ever replaced as a whole, so those that there are go with the new one.
 */
#include "operations.h"

#include <openssl/hmac.h>
#include <sandlot/sdk/credentials.h>
#include <sandlot/sdk/digest.h>
#include <sandlot/sdk/text_format.h>
#include <string.h>

#define HEADER "X-Sandlot-Port"

enum { ID = 32 };

/* What a port's service is to be. */
struct service {
    char id[ID]; /* none that label.c takes for a label */
    uint16_t port;
    char value[DIGEST_SIZE];
    char digest[DIGEST_SIZE]; /* of the value */
};

static enum sandlot_status describe(struct sandlot_call *call, const struct sandbox *sandbox, uint16_t port,
                                    struct service *service)
{
    unsigned char digest[DIGEST_BYTES];
    char text[256];
    const char *key;
    enum sandlot_status status = credential_require(call, SERVICE, KEYS, &key);

    if (status != SANDLOT_OK)
        return status;
    service->port = port;
    snprintf(service->id, sizeof(service->id), "port-%u-by-sandlot", (unsigned)port);
    snprintf(text, sizeof(text), "sandlot port %u of %.200s", (unsigned)port, sandbox->id);
    if (!HMAC(EVP_sha256(), key, (int)strlen(key), (const unsigned char *)text, strlen(text), digest, NULL))
        return http_no_memory(call);
    digest_digits(digest, sizeof(digest), service->value);
    return digest_of(service->value, DIGEST_SIZE - 1, service->digest) ? SANDLOT_OK : http_no_memory(call);
}

/* ---- what there is ----------------------------------------------------------------------------------------------- */

static bool is_as_wanted(struct json_object *found, const struct service *service)
{
    int64_t port = 0;

    return found && json_find_integer(found, "port", &port, NULL) && port == service->port &&
           json_says(found, "ingress.routes[0].auth.header_value_sha256", service->digest);
}

/* Does a route let in by a digest that is not told? It could not be sent again. */
static bool hides_digest(struct json_object *service)
{
    struct json_object *routes = NULL;

    json_find_array(service, "ingress.routes", &routes, NULL);
    for (size_t i = 0; routes && i < json_object_array_length(routes); i++) {
        struct json_object *route = json_object_array_get_idx(routes, i);
        const char *digest = NULL;
        const char *mode = "none";

        json_find_string(route, "auth.mode", &mode, NULL);
        json_find_string(route, strcmp(mode, "bearer") == 0 ? "auth.bearer_token_sha256" : "auth.header_value_sha256",
                         &digest, NULL);
        if (strcmp(mode, "none") != 0 && !digest)
            return true;
    }
    return false;
}

/* ---- what is to be ----------------------------------------------------------------------------------------------- */

/* Of a service that was shown, what may be sent. */
static struct json_object *copy_service(struct json_object *shown)
{
    static const char *const fields[] = {"id", "display_name", "port", "runtime", "ingress", "health_check"};
    struct json_object *copy = json_object_new_object();

    for (size_t i = 0; copy && i < sizeof(fields) / sizeof(*fields); i++) {
        struct json_object *field = json_object_object_get(shown, fields[i]);

        if (field)
            json_object_object_add(copy, fields[i], json_object_get(field));
    }
    return copy;
}

static void add_service(struct json_builder *body, const struct service *service)
{
    struct json_builder made = {0};

    json_set_string(&made, "id", service->id);
    json_set_integer(&made, "port", service->port);
    json_set_string(&made, "runtime.type", "manual");
    json_set_boolean(&made, "ingress.public", true);
    json_set_string(&made, "ingress.routes[0].id", "all");
    json_set_string(&made, "ingress.routes[0].path_prefix", "/");
    json_set_boolean(&made, "ingress.routes[0].resume", false);
    json_set_string(&made, "ingress.routes[0].auth.mode", "header");
    json_set_string(&made, "ingress.routes[0].auth.header_name", HEADER);
    json_set_string(&made, "ingress.routes[0].auth.header_value_sha256", service->digest);
    json_set_built(body, "services[]", &made);
}

static enum sandlot_status make_body(struct sandlot_call *call, const struct sandbox *sandbox,
                                     struct json_object *services, const struct service *service,
                                     struct json_builder *body)
{
    for (size_t i = 0; services && i < json_object_array_length(services); i++) {
        struct json_object *other = json_object_array_get_idx(services, i);

        if (json_says(other, "id", service->id))
            continue;
        if (hides_digest(other))
            return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                                SERVICE "'s sandbox '%.128s' has a service of its own that could not be kept when one "
                                        "for port %u is added: who may use it is not told; publish the port by hand",
                                sandbox->id, (unsigned)service->port);
        json_set_value(body, "services[]", copy_service(other));
    }
    add_service(body, service);
    return SANDLOT_OK;
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

/* *SHOWN: the service as it stands in ANSWER, which is to be released. */
static enum sandlot_status publish(struct sandlot_call *call, struct sandbox *sandbox, const struct service *service,
                                   struct json_object **answer, struct json_object **shown)
{
    const struct rest_request look = {.method = "GET", .target = http_target(SANDBOXES "/{}/services", sandbox->id)};
    AUTO_DOCUMENT struct json_object *before = NULL;
    struct json_object *services = NULL;
    struct json_builder body = {0};
    struct rest_request put = {.method = "PUT", .body = &body, .repeatable = true};
    enum sandlot_status status = api_send(call, sandbox->sandbox0, look, NULL, &before);

    if (status != SANDLOT_OK)
        return status;
    json_find_array(before, "data.services", &services, NULL);
    *shown = json_find_element(services, "id", service->id);
    if (is_as_wanted(*shown, service)) {
        *answer = json_object_get(before);
        return SANDLOT_OK;
    }
    status = make_body(call, sandbox, services, service, &body);
    if (status != SANDLOT_OK)
        return rest_drop(&put, status);
    put.target = http_target(SANDBOXES "/{}/services", sandbox->id);
    status = api_send(call, sandbox->sandbox0, put, NULL, answer);
    services = NULL;
    if (status == SANDLOT_OK)
        json_find_array(*answer, "data.services", &services, NULL);
    *shown = json_find_element(services, "id", service->id);
    return status;
}

static enum sandlot_status read_place(struct sandlot_call *call, const struct service *service,
                                      struct json_object *shown, struct http_relay_place *place)
{
    const char *url = NULL;
    const char *why = "it does not say why";

    if (shown) {
        json_find_string(shown, "public_url", &url, NULL);
        json_find_string(shown, "publish_blockers[0]", &why, NULL);
    }
    if (!url || *url == '\0')
        return sandlot_fail(call, SANDLOT_UNSUPPORTED, SERVICE " gives port %u no URL: %.200s", (unsigned)service->port,
                            why);
    size_t length = strlen(url);

    place->url = strndup(url, url[length - 1] == '/' ? length - 1 : length);
    place->header = text_format(HEADER ": %s", service->value);
    return place->url && place->header ? SANDLOT_OK : http_no_memory(call);
}

enum sandlot_status ports_find(struct sandlot_call *call, void *provider, void *handle, uint16_t port, int64_t ttl_ms,
                               struct http_relay_place *place)
{
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct json_object *shown = NULL;
    struct sandbox *sandbox = handle;
    struct sandbox0 *sandbox0 = provider;
    struct service service;
    enum sandlot_status status = describe(call, sandbox, port, &service);

    (void)ttl_ms;
    if (status == SANDLOT_OK)
        status = sandbox_bring(call, sandbox0, sandbox->id, PHASE_RUNNING); /* a port is no use of one that sleeps */
    if (status != SANDLOT_OK)
        return status;
    pthread_mutex_lock(&sandbox->publishing);
    status = publish(call, sandbox, &service, &answer, &shown);
    pthread_mutex_unlock(&sandbox->publishing);
    place->client = sandbox0->client;
    return status == SANDLOT_OK ? read_place(call, &service, shown, place) : status;
}

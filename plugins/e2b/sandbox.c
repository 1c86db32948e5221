#include "sandbox.h"

#include "create.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/base64.h>
#include <sandlot/sdk/network.h>
#include <sandlot/sdk/text_format.h>
#include <sandlot/sdk/timestamp.h>

#include <string.h>

#define DAEMON_PORT "49983"

enum { SECOND_MS = 1000, FEWEST_SECONDS = 60 };

/* ---- handles --------------------------------------------------------------------------------------------------- */

void sandbox_release(void *provider, void *handle)
{
    struct sandbox *sandbox = handle;

    (void)provider;
    if (!sandbox)
        return;
    http_relay_places_clear(&sandbox->places);
    free(sandbox->id);
    free(sandbox->domain);
    free(sandbox->user);
    free(sandbox->address);
    free(sandbox->token);
    pthread_mutex_destroy(&sandbox->lock);
    free(sandbox);
}

/* E2B's own domains have one host for all sandboxes. To be freed. */
static char *find_address(const struct e2b *e2b, const struct record *record)
{
    static const char *const shared[] = {"e2b.app", "e2b.dev", "e2b.pro", "e2b-staging.dev"};
    const char *domain = record->domain ? record->domain : e2b->domain;
    char *address;

    if (e2b->sandbox_url) {
        size_t length = strlen(e2b->sandbox_url);

        return strndup(e2b->sandbox_url, length - (e2b->sandbox_url[length - 1] == '/'));
    }
    for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++)
        if (strcmp(domain, shared[i]) == 0)
            return asprintf(&address, "https://sandbox.%s", domain) < 0 ? NULL : address;
    return asprintf(&address, "https://" DAEMON_PORT "-%s.%s", record->id, domain) < 0 ? NULL : address;
}

/* Daemons before 0.4 have no default user. */
static bool is_old_daemon(const char *version)
{
    return strncmp(version, "0.", 2) == 0 && version[2] >= '0' && version[2] < '4' && version[3] == '.';
}

/* Takes over what an answer says. */
static enum sandlot_status take(struct sandlot_call *call, struct sandbox *sandbox, const struct record *record)
{
    char *address = find_address(sandbox->e2b, record);
    char *token = record->token ? strdup(record->token) : NULL;

    if (!address || (record->token && !token)) {
        free(address);
        free(token);
        return http_no_memory(call);
    }
    pthread_mutex_lock(&sandbox->lock);
    free(sandbox->address);
    sandbox->address = address;
    free(sandbox->token);
    sandbox->token = token;
    if (record->ends_at_ms > 0)
        sandbox->ends_ms = timestamp_steady(record->ends_at_ms);
    if (record->rest_ms > 0)
        sandbox->rest_ms = record->rest_ms;
    if (record->until_ms > 0)
        sandbox->until_ms = timestamp_steady(record->until_ms);
    pthread_mutex_unlock(&sandbox->lock);
    return SANDLOT_OK;
}

/* Those of a policy; else those that the sandbox has, or is given by the parameter `network`. */
static bool has_credentials(const struct e2b *e2b, const struct sandlot_network *network, const struct record *record)
{
    const char *said = e2b->parameters.network;
    AUTO_DOCUMENT struct json_object *own =
        parameter_is_said(said) ? json_read_document(said, strlen(said), NULL) : NULL;

    if (network)
        return network->credential_count > 0;
    return record->has_credentials || (own && record_has_rules(own));
}

static enum sandlot_status open_handle(struct sandlot_call *call, struct e2b *e2b, const struct sandlot_create *request,
                                       const struct record *record, struct sandbox **made)
{
    struct sandbox *sandbox = calloc(1, sizeof(*sandbox));
    const char *user = e2b->parameters.user;
    const struct sandlot_network *network = network_asked(request);

    if (!sandbox)
        return http_no_memory(call);
    sandbox->e2b = e2b;
    pthread_mutex_init(&sandbox->lock, NULL);
    if (!user && is_old_daemon(record->version))
        user = "user";
    http_relay_places_init(&sandbox->places);
    sandbox->id = strdup(record->id);
    sandbox->domain = strdup(record->domain ? record->domain : e2b->domain);
    sandbox->user = user ? strdup(user) : NULL;
    sandbox->rest_ms = create_seconds(e2b, request) * SECOND_MS;
    sandbox->has_credentials = has_credentials(e2b, network, record);
    if (record->ends_at_ms == 0) { /* new, or awake again for as long as it says itself */
        sandbox->ends_ms = timestamp_steady_now() + (record->rest_ms > 0 ? record->rest_ms : sandbox->rest_ms);
        sandbox->until_ms = request->hard_ttl_ms > 0 ? timestamp_steady_now() + request->hard_ttl_ms : 0;
    }
    enum sandlot_status status =
        sandbox->id && sandbox->domain && (!user || sandbox->user) ? take(call, sandbox, record) : http_no_memory(call);

    if (status == SANDLOT_OK)
        *made = sandbox;
    else
        sandbox_release(e2b, sandbox);
    return status;
}

/* ---- living longer --------------------------------------------------------------------------------------------- */

/* How many seconds it is to live from now on; 0: it lives long enough. The others then need not see to it too. */
static int64_t claim_time(struct sandbox *sandbox)
{
    int64_t now_ms = timestamp_steady_now();
    int64_t end_ms = now_ms + sandbox->rest_ms;

    if (sandbox->until_ms > 0 && sandbox->until_ms < end_ms)
        end_ms = sandbox->until_ms;
    if (sandbox->ends_ms == 0 || sandbox->ends_ms - now_ms >= sandbox->rest_ms / 2 ||
        end_ms - sandbox->ends_ms < SECOND_MS)
        return 0;
    sandbox->ends_ms = end_ms;
    return (end_ms - now_ms) / SECOND_MS;
}

/* The time that was claimed is not there: a later use asks again, which is well before the end. */
static void try_again_soon(struct sandbox *sandbox)
{
    pthread_mutex_lock(&sandbox->lock);
    sandbox->ends_ms = timestamp_steady_now() + sandbox->rest_ms / 2 + sandbox->rest_ms / 8;
    pthread_mutex_unlock(&sandbox->lock);
}

/* Whatever comes of it, what the sandbox is wanted for is tried. */
static void live_longer(struct sandlot_call *call, struct sandbox *sandbox, int64_t seconds)
{
    AUTO_RESPONSE struct http_response response = {0};
    struct json_builder body = {0};
    struct attempt attempt;
    const struct api_request request = {
        .method = "POST", .pattern = "/sandboxes/{}/timeout", .id = sandbox->id, .body = &body, .repeatable = true};

    json_set_integer(&body, "timeout", seconds);
    attempt_begin(&attempt, call, 0);
    enum sandlot_status status = api_send(&attempt.call, sandbox->e2b, &request, &response, NULL);

    if (response.status == 404) /* it is gone, or paused, which a port would not tell */
        sandbox_wake(&attempt.call, sandbox);
    if (status == SANDLOT_OK || response.status == 404)
        return;
    if (status != SANDLOT_INVALID_ARGUMENT && status != SANDLOT_UNSUPPORTED && status != SANDLOT_AUTH)
        try_again_soon(sandbox);
    call->host->log(call, SANDLOT_LOG_WARNING,
                    "E2B does not let this sandbox live longer; it will end when its time is up");
}

int64_t sandbox_lasts_ms(struct sandbox *sandbox)
{
    pthread_mutex_lock(&sandbox->lock);
    int64_t lasts_ms = sandbox->rest_ms / 2;

    pthread_mutex_unlock(&sandbox->lock);
    return lasts_ms;
}

/* ---- the way to the daemon ------------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void add_header(struct sandbox_way *way, const char *format, ...)
{
    size_t used = 0;
    va_list arguments;

    while (way->headers[used])
        used++;
    va_start(arguments, format);
    int length = vsnprintf(way->lines[used], SANDBOX_HEADER, format, arguments);
    va_end(arguments);
    if (length < SANDBOX_HEADER) /* half a token is none */
        way->headers[used] = way->lines[used];
}

static void add_user(struct sandbox_way *way, const char *user)
{
    char plain[128];
    char text[256];
    size_t length = (size_t)snprintf(plain, sizeof(plain), "%s:", user);

    if (length >= sizeof(plain))
        return;
    text[base64_write(text, plain, length)] = '\0';
    add_header(way, "Authorization: Basic %s", text);
}

void sandbox_find_way(struct sandlot_call *call, struct sandbox *sandbox, const char *operation, bool urgent,
                      struct sandbox_way *way)
{
    *way = (struct sandbox_way){0};
    pthread_mutex_lock(&sandbox->lock);
    int64_t seconds = urgent ? 0 : claim_time(sandbox);

    if (sandbox->token)
        add_header(way, "X-Access-Token: %s", sandbox->token);
    way->target = text_format("%s%s", sandbox->address, operation);
    pthread_mutex_unlock(&sandbox->lock);
    /* A shared host finds it by these, any other one by its name. */
    add_header(way, "E2b-Sandbox-Id: %s", sandbox->id);
    add_header(way, "E2b-Sandbox-Port: " DAEMON_PORT);
    if (sandbox->user)
        add_user(way, sandbox->user);
    if (seconds > 0)
        live_longer(call, sandbox, seconds);
}

void sandbox_find_files(struct sandlot_call *call, struct sandbox *sandbox, const char *path, struct sandbox_way *way)
{
    char *operation = strdup("/files");

    *way = (struct sandbox_way){0};
    if (operation && path)
        http_target_add(&operation, "path", path);
    if (operation && sandbox->user)
        http_target_add(&operation, "username", sandbox->user);
    if (operation)
        sandbox_find_way(call, sandbox, operation, false, way);
    free(operation);
}

void sandbox_live_on(struct sandlot_call *call, void *sandbox)
{
    AUTO_WAY struct sandbox_way way = {0};

    sandbox_find_way(call, sandbox, "", false, &way);
}

void sandbox_way_clear(struct sandbox_way *way)
{
    free(way->target);
    way->target = NULL;
}

/* ---- waking ---------------------------------------------------------------------------------------------------- */

bool sandbox_may_sleep(int status)
{
    return status == 401 || status == 409 || status == 502;
}

/* Connects if the sandbox sleeps; the answer to looking has all that is to be known of it. */
static enum sandlot_status look_and_wake(struct sandlot_call *call, struct e2b *e2b, const char *id, int64_t rest_ms,
                                         struct record *record)
{
    enum sandlot_status status = record_get(call, e2b, id, record);

    if (status != SANDLOT_OK || !record->paused)
        return status;
    int64_t seconds = (record->rest_ms > 0 ? record->rest_ms : rest_ms) / SECOND_MS;

    status = record_connect(call, e2b, id, seconds > 0 ? seconds : FEWEST_SECONDS, NULL);
    record->ends_at_ms = 0;
    return status;
}

enum sandlot_status sandbox_wake(struct sandlot_call *call, struct sandbox *sandbox)
{
    AUTO_RECORD struct record record = {0};
    enum sandlot_status status = look_and_wake(call, sandbox->e2b, sandbox->id, sandbox->rest_ms, &record);

    return status == SANDLOT_OK ? take(call, sandbox, &record) : status;
}

/* ---- finding and making ---------------------------------------------------------------------------------------- */

enum sandlot_status sandbox_get_or_create(struct sandlot_call *call, void *provider,
                                          const struct sandlot_create *request, void **sandbox)
{
    struct e2b *e2b = provider;
    AUTO_RECORD struct record record = {0};
    struct sandbox *made = NULL;
    int64_t rest_ms = create_seconds(e2b, request) * SECOND_MS;
    enum sandlot_status status = request->sandbox_id ? look_and_wake(call, e2b, request->sandbox_id, rest_ms, &record)
                                                     : create_sandbox(call, e2b, request, &record);

    if (status == SANDLOT_OK)
        status = open_handle(call, e2b, request, &record, &made);
    *sandbox = made;
    return status;
}

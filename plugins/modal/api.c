#include "api.h"

#include "message.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/jwt.h>
#include <sandlot/sdk/text_format.h>

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

enum {
    TOKEN_ATTEMPT_MS = 5000,
    TOKEN_MS = 20 * 60 * 1000, /* of a token that does not say */
    TOKEN_PAUSE_MS = 5000,     /* until it is tried again to renew one */
    SILENCE_MS = 120 * 1000,
    ROUTER_ATTEMPTS = 11, /* ten milliseconds doubling: ten seconds in all */
    ROUTER_PAUSE_MS = 10,
    ROUTER_LONGEST_PAUSE_MS = 5120,
    FIRST_GENERATION_ID = 22,
    LONGEST_ANSWER = 4 << 20 /* two bytes of a list may be an item, of a hundred bytes in memory */
};

static const char service[] = "Modal";
static const struct api_service control_service = {
    .path = "/modal.client.ModalClient/", .key = "x-modal-auth-token: ", .longest = LONGEST_ANSWER};

enum sandlot_status api_no_memory(struct sandlot_call *call)
{
    return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for a request to Modal; free some");
}

bool api_is_first_generation(const char *id)
{
    size_t length = strncmp(id, "sb-", 3) == 0 ? strlen(id + 3) : 0;

    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)id[3 + i]))
            return false;
    return length == FIRST_GENERATION_ID;
}

enum sandlot_status api_copy(struct sandlot_call *call, const char *text, char **copy)
{
    *copy = strdup(text);
    return *copy ? SANDLOT_OK : api_no_memory(call);
}

/* ---- messages --------------------------------------------------------------------------------------------------- */

/* A message as it goes over the wire, to be freed; NULL when out of memory. */
static unsigned char *pack(const ProtobufCMessage *message, size_t *length)
{
    *length = protobuf_c_message_get_packed_size(message);
    unsigned char *bytes = malloc(*length + 1);

    if (bytes)
        protobuf_c_message_pack(message, bytes);
    return bytes;
}

enum sandlot_status api_unpack(struct sandlot_call *call, const char *name, const ProtobufCMessageDescriptor *type,
                               const void *bytes, size_t length, void *message)
{
    ProtobufCMessage **made = message;

    *made = protobuf_c_message_unpack(type, NULL, length, bytes);
    return *made ? SANDLOT_OK
                 : sandlot_fail(call, SANDLOT_INTERNAL,
                                "Modal's answer to %s makes no sense; try again, and look for a newer Sandlot", name);
}

/* ---- clients ---------------------------------------------------------------------------------------------------- */

/* A service that is too busy may say in a status how long it wants to be left alone. */
static int64_t asked_pause(const void *details, size_t length)
{
    static const char wanted[] = "/modal.client.RPCRetryPolicy";
    Modal__RpcStatus *status = modal__rpc_status__unpack(NULL, length, details);
    int64_t pause_ms = -1;

    for (size_t i = 0; status && i < status->n_details && pause_ms < 0; i++) {
        const Modal__Any *detail = status->details[i];
        size_t size = strlen(detail->type_url);

        if (size < sizeof(wanted) - 1 || strcmp(detail->type_url + size - (sizeof(wanted) - 1), wanted) != 0)
            continue;
        Modal__RpcRetryPolicy *policy = modal__rpc_retry_policy__unpack(NULL, detail->value.len, detail->value.data);

        if (policy && policy->retry_after_secs >= 0)
            pause_ms = policy->retry_after_secs < 1e6F ? (int64_t)(policy->retry_after_secs * 1000) : 1000000000;
        if (policy)
            modal__rpc_retry_policy__free_unpacked(policy, NULL);
        pause_ms = pause_ms >= 0 && pause_ms < 100 ? 100 : pause_ms;
    }
    if (status)
        modal__rpc_status__free_unpacked(status, NULL);
    return pause_ms;
}

static size_t describe(const struct grpc_attempt *attempt, char lines[GRPC_ATTEMPT_LINES][GRPC_ATTEMPT_LINE])
{
    size_t used = 0;

    snprintf(lines[used++], GRPC_ATTEMPT_LINE, "x-idempotency-key: %s", attempt->key);
    snprintf(lines[used++], GRPC_ATTEMPT_LINE, "x-retry-attempt: %d", attempt->repeats);
    snprintf(lines[used++], GRPC_ATTEMPT_LINE, "x-throttle-retry-attempt: %d", attempt->asked_repeats);
    if (attempt->repeats + attempt->asked_repeats > 0)
        snprintf(lines[used++], GRPC_ATTEMPT_LINE, "x-retry-delay: %.3f", (double)attempt->since_first_ms / 1000);
    if (attempt->asked_repeats > 0)
        snprintf(lines[used++], GRPC_ATTEMPT_LINE, "x-throttle-retry-delay: %.3f",
                 (double)attempt->since_first_asked_ms / 1000);
    return used;
}

/* A server on the wrong side of TLS would get the token. */
static enum sandlot_status open_control(struct sandlot_call *call, struct modal *modal)
{
    const struct settings *settings = &modal->settings;
    AUTO_FREE char *id = text_format("x-modal-token-id: %s", settings->token_id);
    AUTO_FREE char *secret = text_format("x-modal-token-secret: %s", settings->token_secret);

    if (!id || !secret)
        return api_no_memory(call);
    /* The kind of client and its version are checked there; these two are known to be let in. */
    const char *const metadata[] = {"x-modal-client-type: 8", "x-modal-client-version: 1.0.0", id, secret, NULL};
    const struct grpc_options options = {.service = service,
                                         .base_url = settings->server_url,
                                         .metadata = metadata,
                                         .silence_ms = SILENCE_MS,
                                         .longest_asked_ms = settings->longest_asked_ms,
                                         .key_from = settings->token_from,
                                         .describe = describe,
                                         .asked_ms = asked_pause};
    enum sandlot_status status = grpc_client_open(call, &options, &modal->control);

    explicit_bzero(secret, strlen(secret));
    return status;
}

enum sandlot_status api_settle(struct sandlot_call *call, struct modal *modal)
{
    enum sandlot_status status = SANDLOT_OK;

    pthread_mutex_lock(&modal->lock);
    if (!modal->settled) {
        status = settings_read(call, &modal->parameters, &modal->settings);
        if (status == SANDLOT_OK)
            status = open_control(call, modal);
        modal->settled = status == SANDLOT_OK;
        if (!modal->settled)
            settings_clear(&modal->settings);
    }
    pthread_mutex_unlock(&modal->lock);
    return status;
}

enum sandlot_status api_check(struct sandlot_call *call, void *provider)
{
    const struct modal *modal = provider;
    struct settings settings = {0};
    enum sandlot_status status = settings_read(call, &modal->parameters, &settings);

    settings_clear(&settings);
    return status;
}

enum sandlot_status api_outside(struct sandlot_call *call, struct modal *modal, struct http_client **client)
{
    enum sandlot_status status = api_settle(call, modal);

    if (status != SANDLOT_OK)
        return status;
    const struct http_options options = {.service = service, .base_url = modal->settings.server_url};

    pthread_mutex_lock(&modal->lock);
    if (!modal->outside)
        status = http_client_open(call, &options, &modal->outside);
    *client = modal->outside;
    pthread_mutex_unlock(&modal->lock);
    return status;
}

/* The address to connect to: a control plane on this machine has its workers here too, without TLS. */
static char *router_address(const struct modal *modal, const char *url)
{
    char *address = NULL;

    if (!settings_is_local(modal->settings.server_url))
        return strdup(url);
    return asprintf(&address, "http://%s", url + strlen("https://")) < 0 ? NULL : address;
}

static enum sandlot_status open_router(struct sandlot_call *call, void *context, const char *url, void **client)
{
    const struct modal *modal = context;
    AUTO_FREE char *address = router_address(modal, url);
    const struct grpc_options options = {.service = "Modal's worker",
                                         .base_url = address,
                                         .silence_ms = SILENCE_MS,
                                         .attempts = ROUTER_ATTEMPTS,
                                         .pause_ms = ROUTER_PAUSE_MS,
                                         .longest_pause_ms = ROUTER_LONGEST_PAUSE_MS,
                                         .asked_ms = asked_pause};
    struct grpc_client *made = NULL;
    enum sandlot_status status = address ? grpc_client_open(call, &options, &made) : api_no_memory(call);

    *client = made;
    return status;
}

static void close_router(void *client)
{
    grpc_client_close(client);
}

enum sandlot_status api_router(struct sandlot_call *call, struct modal *modal, const char *url,
                               struct grpc_client **client)
{
    if (strncasecmp(url, "https://", 8) == 0)
        return clients_get(call, &modal->routers, url, client);
    return sandlot_fail(call, SANDLOT_INTERNAL,
                        "Modal says that the sandbox is reached at \"%.200s\", which is no https address; check the "
                        "address of the API",
                        url);
}

void api_init(struct modal *modal, const struct parameters *parameters)
{
    modal->parameters = *parameters;
    pthread_mutex_init(&modal->lock, NULL);
    clients_init(&modal->routers, modal, open_router, close_router);
}

void api_clear(struct modal *modal)
{
    grpc_client_close(modal->control);
    http_client_close(modal->outside);
    clients_clear(&modal->routers);
    free(modal->token);
    free(modal->app_id);
    free(modal->builder_version);
    settings_clear(&modal->settings);
    pthread_mutex_destroy(&modal->lock);
}

/* ---- requests --------------------------------------------------------------------------------------------------- */

enum sandlot_status api_send(struct sandlot_call *call, struct grpc_client *client, const struct api_service *to,
                             const struct rpc *rpc, uint32_t accepted, const char *key, struct grpc_answer *answer)
{
    size_t length = 0;
    AUTO_FREE unsigned char *message = pack(rpc->request, &length);
    AUTO_FREE char *method = text_format("%s%s", to->path, rpc->name);
    AUTO_FREE char *line = key ? text_format("%s%s", to->key, key) : NULL;

    *answer = (struct grpc_answer){0};
    if (!method || !message || (key && !line))
        return api_no_memory(call);
    const char *const metadata[] = {line, NULL};
    const struct grpc_request request = {.method = method,
                                         .message = message,
                                         .length = length,
                                         .metadata = metadata,
                                         .accepted = rpc->accepted | accepted,
                                         .once = rpc->once,
                                         .timeout_ms = rpc->timeout_ms,
                                         .after_cancel = rpc->after_cancel,
                                         .limit = to->longest,
                                         .on_message = rpc->on_message,
                                         .context = rpc->context};

    return grpc_send(call, client, &request, answer);
}

/* ---- tokens ----------------------------------------------------------------------------------------------------- */

static enum sandlot_status fetch_token(struct sandlot_call *call, struct modal *modal, bool once, char **token)
{
    const Modal__Empty request = MODAL__EMPTY__INIT;
    const struct rpc rpc = {
        .name = "AuthTokenGet", .request = &request.base, .once = once, .timeout_ms = TOKEN_ATTEMPT_MS};
    AUTO_ANSWER struct grpc_answer answer;
    AUTO_MESSAGE Modal__AuthTokenGetResponse *message = NULL;
    enum sandlot_status status = api_send(call, modal->control, &control_service, &rpc, 0, NULL, &answer);

    if (status == SANDLOT_OK)
        status = api_unpack(call, rpc.name, &modal__auth_token_get_response__descriptor, answer.message, answer.length,
                            &message);
    if (status == SANDLOT_OK && !*message->token)
        status = sandlot_fail(call, SANDLOT_INTERNAL, "Modal answered AuthTokenGet without a token; try again");
    if (status != SANDLOT_OK)
        return status;
    char *kept = NULL;

    status = api_copy(call, message->token, token);
    if (status == SANDLOT_OK)
        status = api_copy(call, message->token, &kept);
    if (status != SANDLOT_OK)
        return status;
    grpc_client_add_secret(modal->control, kept);
    pthread_mutex_lock(&modal->lock);
    free(modal->token);
    modal->token = kept;
    /* Renewed when a bit more than half of its life is over. */
    modal->token_until_ms = sandlot_now_ms() + jwt_lifetime_ms(kept, TOKEN_MS) * 11 / 20;
    pthread_mutex_unlock(&modal->lock);
    return SANDLOT_OK;
}

static char *copy_token(struct modal *modal)
{
    pthread_mutex_lock(&modal->lock);
    char *token = strdup(modal->token);

    pthread_mutex_unlock(&modal->lock);
    return token;
}

/* The token is old. While no newer one is to be had it is used on, for it may be good yet; *KEPT: so it is. */
static enum sandlot_status renew_token(struct sandlot_call *call, struct modal *modal, char **token, bool *kept)
{
    struct attempt attempt;

    attempt_begin(&attempt, call, 0);
    enum sandlot_status status = fetch_token(&attempt.call, modal, true, token);

    *kept = status == SANDLOT_UNAVAILABLE || status == SANDLOT_EXHAUSTED || status == SANDLOT_TIMEOUT;
    if (!*kept)
        return status == SANDLOT_OK ? status : attempt_fail(&attempt, status);
    pthread_mutex_lock(&modal->lock);
    modal->token_until_ms = sandlot_now_ms() + TOKEN_PAUSE_MS;
    pthread_mutex_unlock(&modal->lock);
    *token = copy_token(modal);
    return *token ? SANDLOT_OK : api_no_memory(call);
}

/* A copy of the token, to be freed; *KEPT: it has been used before. Two threads may fetch one each at first: to wait
 * for each other they would have to outlast their own deadlines. */
static enum sandlot_status take_token(struct sandlot_call *call, struct modal *modal, char **token, bool *kept)
{
    pthread_mutex_lock(&modal->lock);
    bool known = modal->token;

    *kept = known && sandlot_now_ms() < modal->token_until_ms;
    pthread_mutex_unlock(&modal->lock);
    if (!*kept)
        return known ? renew_token(call, modal, token, kept) : fetch_token(call, modal, false, token);
    *token = copy_token(modal);
    return *token ? SANDLOT_OK : api_no_memory(call);
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

static enum sandlot_status send(struct sandlot_call *call, struct modal *modal, const struct rpc *rpc,
                                struct grpc_answer *answer)
{
    AUTO_FREE char *token = NULL;
    AUTO_FREE char *newer = NULL;
    bool kept = false;
    enum sandlot_status status = api_settle(call, modal);

    *answer = (struct grpc_answer){0};
    if (status == SANDLOT_OK)
        status = take_token(call, modal, &token, &kept);
    if (status == SANDLOT_OK)
        status = api_send(call, modal->control, &control_service, rpc, kept ? GRPC_BIT(GRPC_UNAUTHENTICATED) : 0, token,
                          answer);
    if (status != SANDLOT_OK || !kept || answer->code != GRPC_UNAUTHENTICATED)
        return status;
    /* This machine may have slept while the token grew old. */
    grpc_answer_clear(answer);
    status = fetch_token(call, modal, false, &newer);
    return status == SANDLOT_OK ? api_send(call, modal->control, &control_service, rpc, 0, newer, answer) : status;
}

enum sandlot_status api_call(struct sandlot_call *call, struct modal *modal, const struct rpc *rpc, int *code,
                             void *message)
{
    AUTO_ANSWER struct grpc_answer answer;
    enum sandlot_status status = send(call, modal, rpc, &answer);

    if (code)
        *code = answer.code;
    if (status != SANDLOT_OK || answer.code != GRPC_OK || !rpc->answer)
        return status;
    return api_unpack(call, rpc->name, rpc->answer, answer.message, answer.length, message);
}

enum sandlot_status api_app(struct sandlot_call *call, struct modal *modal, bool make, const char **id)
{
    Modal__AppGetOrCreateRequest request = MODAL__APP_GET_OR_CREATE_REQUEST__INIT;
    const struct rpc rpc = {.name = "AppGetOrCreate",
                            .request = &request.base,
                            .answer = &modal__app_get_or_create_response__descriptor,
                            .accepted = make ? 0 : GRPC_BIT(GRPC_NOT_FOUND)};
    AUTO_MESSAGE Modal__AppGetOrCreateResponse *answer = NULL;
    int code = GRPC_OK;
    enum sandlot_status status = api_settle(call, modal);

    pthread_mutex_lock(&modal->lock);
    *id = modal->app_id;
    pthread_mutex_unlock(&modal->lock);
    if (status != SANDLOT_OK || *id)
        return status;
    request.app_name = (char *)modal->parameters.app;
    request.environment_name = (char *)modal->settings.environment;
    request.object_creation_type = make ? MODAL__OBJECT_CREATION__CREATE_IF_MISSING : MODAL__OBJECT_CREATION__LOOK_UP;
    status = api_call(call, modal, &rpc, &code, &answer);
    if (status != SANDLOT_OK)
        return status;
    *id = "";
    if (code != GRPC_OK)
        return SANDLOT_OK;
    if (!*answer->app_id)
        return sandlot_fail(call, SANDLOT_INTERNAL, "Modal answered AppGetOrCreate without an id; try again");
    pthread_mutex_lock(&modal->lock);
    if (!modal->app_id)
        modal->app_id = strdup(answer->app_id);
    *id = modal->app_id;
    pthread_mutex_unlock(&modal->lock);
    return *id ? SANDLOT_OK : api_no_memory(call);
}

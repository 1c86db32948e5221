/*
 * A provider over an HTTP API, of a made-up vendor: the shortest that uses the helper library as the providers of real
 * vendors do, and survives what their networks do.
 *
 * A creation whose answer is lost is found again by its name, which is ours alone. Commands go through remote_command,
 * because the service returns text and knows no time limits. A download that breaks goes on where it stopped.
 */
#include <sandlot/provider.h>
#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/credentials.h>
#include <sandlot/sdk/ndjson.h>
#include <sandlot/sdk/parameters.h>
#include <sandlot/sdk/remote_command.h>
#include <sandlot/sdk/rest.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ACME_PARAMETERS(P) P(string, base_url, "https://api.acme.invalid", optional, "address of the API")
SANDLOT_PARAMETERS(acme, ACME_PARAMETERS)

#define KEYS "ACME_API_KEY"
#define HOME "/home/acme"

enum {
    LINE_MAXIMUM = 1 << 20,
    KEPT_MAXIMUM = 1 << 20, /* an upload up to this size can be sent again */
    HOLD_MS = 15000,        /* the service ends a command after 20 s */
    DOWNLOAD_TRIES = 6,
    URGENT_MS = 900
};

struct acme {
    struct http_client *client;
};

struct sandbox {
    char *id;
    bool running; /* has been seen to */
};

/* ---- the provider ------------------------------------------------------------------------------------------------ */

static enum sandlot_status acme_open(struct sandlot_call *call, void **provider, const char *base_url)
{
    struct acme *acme = calloc(1, sizeof(*acme));
    AUTO_FREE char *key_from = credential_source(call, KEYS); /* named where the key is refused */
    const struct http_options options = {
        .service = "Acme", .base_url = base_url, .bearer = credential_find(call, KEYS, NULL), .key_from = key_from};

    if (!acme)
        return sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    enum sandlot_status status = http_client_open(call, &options, &acme->client);

    if (status == SANDLOT_OK)
        *provider = acme;
    else
        free(acme);
    return status;
}

static void acme_close(void *provider)
{
    struct acme *acme = provider;

    http_client_close(acme->client);
    free(acme);
}

/* One request whose answer is a document. */
static enum sandlot_status ask(struct sandlot_call *call, struct acme *acme, struct rest_request request,
                               struct json_object **answer)
{
    const char *key;
    enum sandlot_status status = credential_require(call, "Acme", KEYS, &key);

    request.answered = true;
    return status == SANDLOT_OK ? rest_send(call, acme->client, &request, NULL, answer) : rest_drop(&request, status);
}

/* ---- sandboxes
 * ------------------------------------------------------------------------------------------------------- */

/* The id of the sandbox called NAME, to be freed; NULL if there is none, or that cannot be told. */
static char *find_by_name(struct sandlot_call *call, struct acme *acme, const char *name)
{
    const struct rest_request request = {.method = "GET", .target = http_target("/v1/sandboxes?name={}", name)};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct attempt attempt;
    const char *id = NULL;

    attempt_begin(&attempt, call, 0);
    ask(&attempt.call, acme, request, &answer);
    return answer && json_read_string(answer, "items[0].id", &id, NULL) ? strdup(id) : NULL;
}

/* Sending it twice makes one sandbox: the second is refused because the name is taken. */
static enum sandlot_status create(struct sandlot_call *call, struct acme *acme, const struct sandlot_create *wanted,
                                  char **id)
{
    struct json_builder body = {0};
    const struct rest_request request = {.method = "POST",
                                         .target = http_target("/v1/sandboxes"),
                                         .body = &body,
                                         .repeatable = true,
                                         .error_hint = "the name may be taken by an earlier attempt"};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct attempt attempt;
    const char *told;
    char name[64];

    snprintf(name, sizeof(name), "sandlot-%s", wanted->run_label);
    json_set_string(&body, "name", name);
    json_set_object(&body, "metadata");
    parameter_set_labels(&body, "metadata", wanted);
    json_set_string(&body, "metadata.run_label", wanted->run_label);
    attempt_begin(&attempt, call, 0);
    enum sandlot_status status = ask(&attempt.call, acme, request, &answer);

    if (answer && json_read_string(answer, "id", &told, NULL))
        *id = strdup(told);
    else if (status == SANDLOT_OK || status == SANDLOT_UNAVAILABLE || status == SANDLOT_INTERNAL)
        *id = find_by_name(call, acme, name); /* 409, a lost answer, or one that makes no sense */
    if (*id)
        return SANDLOT_OK;
    return status == SANDLOT_OK
               ? sandlot_fail(call, SANDLOT_INTERNAL, "Acme's answer to a creation has no id; try again")
               : attempt_fail(&attempt, status);
}

static enum sandlot_status set_state(struct sandlot_call *call, struct acme *acme, const char *id, const char *pattern)
{
    const struct rest_request request = {.method = "POST", .target = http_target(pattern, id), .repeatable = true};
    AUTO_DOCUMENT struct json_object *answer = NULL;

    return ask(call, acme, request, &answer);
}

static enum sandlot_status acme_pause(struct sandlot_call *call, void *provider, const char *id)
{
    return set_state(call, provider, id, "/v1/sandboxes/{}/pause");
}

static enum sandlot_status acme_resume(struct sandlot_call *call, void *provider, const char *id)
{
    return set_state(call, provider, id, "/v1/sandboxes/{}/resume");
}

/* One look; *STATE is to be freed. */
static enum sandlot_status look(struct sandlot_call *call, struct acme *acme, const char *id, char **state)
{
    const struct rest_request request = {.method = "GET", .target = http_target("/v1/sandboxes/{}", id)};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct json_error error;
    const char *text;
    enum sandlot_status status = ask(call, acme, request, &answer);

    if (status != SANDLOT_OK)
        return status;
    if (!json_read_string(answer, "state", &text, &error))
        return json_fail(call, "Acme's answer about a sandbox", &error);
    *state = strdup(text);
    return *state ? SANDLOT_OK : sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
}

static enum sandlot_status acme_get_or_create(struct sandlot_call *call, void *provider,
                                              const struct sandlot_create *request, void **sandbox)
{
    AUTO_FREE char *state = NULL;
    char *id = NULL;
    enum sandlot_status status;

    if (request->sandbox_id) {
        status = look(call, provider, request->sandbox_id, &state);
        if (status == SANDLOT_OK && strcmp(state, "paused") == 0)
            status = acme_resume(call, provider, request->sandbox_id);
        id = status == SANDLOT_OK ? strdup(request->sandbox_id) : NULL;
    } else {
        status = create(call, provider, request, &id);
        if (status == SANDLOT_OK)
            call->host->created(call, id, NULL);
    }
    if (status != SANDLOT_OK)
        return status;
    struct sandbox *made = calloc(1, sizeof(*made));

    if (!made || !id) {
        free(made);
        free(id);
        return sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    }
    made->id = id;
    made->running = state && strcmp(state, "starting") != 0;
    *sandbox = made;
    return SANDLOT_OK;
}

static enum sandlot_status acme_ready(struct sandlot_call *call, void *provider, void *sandbox)
{
    const struct sandbox *known = sandbox;
    AUTO_FREE char *state = NULL;

    if (known->running)
        return SANDLOT_OK;
    enum sandlot_status status = look(call, provider, known->id, &state);

    if (status != SANDLOT_OK || strcmp(state, "running") == 0)
        return status;
    return sandlot_fail(call, SANDLOT_UNAVAILABLE, "the sandbox is %s", state);
}

static void acme_release(void *provider, void *sandbox)
{
    struct sandbox *known = sandbox;

    (void)provider;
    free(known->id);
    free(known);
}

static enum sandlot_status acme_delete(struct sandlot_call *call, void *provider, const char *id)
{
    struct acme *acme = provider;
    AUTO_FREE char *target = http_target("/v1/sandboxes/{}", id);
    const struct http_request request = {.method = "DELETE", .target = target, .accepted = (const int[]){404, 0}};
    const char *key;
    enum sandlot_status status = credential_require(call, "Acme", KEYS, &key);

    return status == SANDLOT_OK ? http_send(call, acme->client, &request, NULL) : status;
}

static enum sandlot_status acme_list(struct sandlot_call *call, void *provider, const char *cursor,
                                     const struct sandlot_listing *listing)
{
    static const struct rest_entry entry = {.what = "Acme's list of sandboxes",
                                            .items = "items",
                                            .next = "next",
                                            .id = "id",
                                            .created_at = "created_at",
                                            .run_label = "metadata.run_label",
                                            .state = "state"};
    struct rest_request request = {.method = "GET", .target = http_target("/v1/sandboxes?limit=100")};
    AUTO_DOCUMENT struct json_object *answer = NULL;

    http_target_add(&request.target, "cursor", cursor);
    enum sandlot_status status = ask(call, provider, request, &answer);

    return status == SANDLOT_OK ? rest_list_entries(call, listing, answer, NULL, &entry) : status;
}

/* ---- commands
 * -------------------------------------------------------------------------------------------------------- */

struct channel {
    struct acme *acme;
    const struct sandbox *sandbox;
};

/* One script under way. */
struct sending {
    const struct sandlot_sink *output;
    bool ended;
};

static enum sandlot_status take_line(void *context, struct json_object *value)
{
    struct sending *sending = context;
    const char *data;

    if (json_read_string(value, "data", &data, NULL))
        return sending->output->write(sending->output, data, strlen(data));
    sending->ended = json_object_object_get(value, "exit_code") != NULL;
    return SANDLOT_OK;
}

static enum sandlot_status run_script(struct sandlot_call *call, void *context, const struct remote_script *script,
                                      const struct sandlot_sink *output, char *reason, size_t capacity)
{
    const struct channel *channel = context;
    AUTO_FREE char *target = http_target("/v1/sandboxes/{}/exec", channel->sandbox->id);
    struct json_builder builder = {0};
    struct sending sending = {.output = output};
    struct attempt attempt;
    struct ndjson reader;
    size_t length = 0;

    json_set_string(&builder, "command", script->text);
    AUTO_FREE char *body = json_finish(&builder, &length);

    if (!body)
        return sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    if (script->urgent)
        attempt_begin_urgent(&attempt, call, URGENT_MS);
    else
        attempt_begin(&attempt, call, 0);
    ndjson_init(&reader, &attempt.call, LINE_MAXIMUM, take_line, &sending);
    const struct http_request request = {.method = "POST",
                                         .target = target,
                                         .body = {.bytes = body, .length = length},
                                         .repeatable = true, /* the script sees to that */
                                         .sink = &reader.sink,
                                         .enough = &sending.ended,
                                         .silence_ms = script->longest_ms + 10000};
    enum sandlot_status status = http_send(&attempt.call, channel->acme->client, &request, NULL);

    ndjson_clear(&reader);
    if (status != SANDLOT_UNAVAILABLE && status != SANDLOT_INTERNAL)
        return status == SANDLOT_OK ? status : attempt_fail(&attempt, status);
    snprintf(reason, capacity, "%s", attempt.reason);
    return SANDLOT_UNAVAILABLE;
}

static enum sandlot_status put(struct sandlot_call *call, void *context, const char *path,
                               const struct sandlot_source *source, uint64_t length)
{
    const struct channel *channel = context;
    AUTO_FREE char *target = http_target("/v1/sandboxes/{}/files?path={}", channel->sandbox->id, path);
    const struct http_request request = {
        .method = "PUT", .target = target, .body = {.source = source, .length = length}};

    return http_send(call, channel->acme->client, &request, NULL);
}

static enum sandlot_status acme_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                        const struct sandlot_command *command, const struct sandlot_sink *output,
                                        struct sandlot_exit *result)
{
    struct channel here = {.acme = provider, .sandbox = sandbox};
    const struct remote_channel channel = {
        .context = &here, .run = run_script, .put = put, .hold_ms = HOLD_MS, .streams = true};

    return remote_command_run(call, &channel, command, output, result);
}

/* ---- files
 * ----------------------------------------------------------------------------------------------------------- */

static const char *file_error(const struct http_response *response)
{
    const char *code = http_header(response, "X-Acme-Error");

    if (!code)
        return NULL;
    if (strcmp(code, "ENOENT") == 0)
        return "file_not_found";
    if (strcmp(code, "EISDIR") == 0)
        return "is_directory";
    if (strcmp(code, "EACCES") == 0)
        return "permission_denied";
    return "invalid_path";
}

/* Bytes that were read ahead, then the rest of the source. */
struct ahead {
    struct sandlot_source source;
    const struct sandlot_source *rest;
    const char *bytes;
    size_t length;
    size_t taken;
    uint64_t more; /* bytes that came from the rest */
};

static enum sandlot_status read_ahead(const struct sandlot_source *source, void *buffer, size_t capacity,
                                      size_t *length)
{
    struct ahead *ahead = source->context;
    size_t left = ahead->length - ahead->taken;

    if (left == 0) {
        enum sandlot_status status = ahead->rest->read(ahead->rest, buffer, capacity, length);

        ahead->more += status == SANDLOT_OK ? *length : 0;
        return status;
    }
    *length = left < capacity ? left : capacity;
    memcpy(buffer, ahead->bytes + ahead->taken, *length);
    ahead->taken += *length;
    return SANDLOT_OK;
}

/* What is small is taken into memory, from where it can be sent twice. */
static enum sandlot_status upload_one(struct sandlot_call *call, struct acme *acme, const char *target,
                                      const struct sandlot_file *file, struct http_response *response)
{
    AUTO_FREE char *kept = malloc(KEPT_MAXIMUM);
    struct ahead ahead = {.rest = file->source, .bytes = kept};
    size_t piece = 1;

    if (!kept)
        return sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    while (piece > 0 && ahead.length < KEPT_MAXIMUM) {
        enum sandlot_status status =
            file->source->read(file->source, kept + ahead.length, KEPT_MAXIMUM - ahead.length, &piece);

        if (status != SANDLOT_OK)
            return status;
        ahead.length += piece;
    }
    ahead.source = (struct sandlot_source){sizeof(ahead.source), &ahead, read_ahead, file->source->poll_fd};
    struct http_request request = {.method = "PUT", .target = target, .type = "application/octet-stream"};

    if (piece == 0)
        request.body = (struct http_body){.bytes = kept, .length = ahead.length};
    else
        request.body = (struct http_body){.source = &ahead.source, .length = file->length};
    enum sandlot_status status = http_send(call, acme->client, &request, response);

    response->bytes = ahead.length + ahead.more;
    return status;
}

/* Counts what has arrived, from where a broken download goes on. */
struct arriving {
    struct sandlot_sink sink;
    const struct sandlot_sink *target;
    uint64_t bytes;
    bool full; /* the target took no more */
};

static enum sandlot_status count_bytes(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct arriving *arriving = sink->context;
    enum sandlot_status status = arriving->target->write(arriving->target, bytes, length);

    arriving->full = status != SANDLOT_OK;
    arriving->bytes += arriving->full ? 0 : length;
    return status;
}

static enum sandlot_status download_part(struct sandlot_call *call, struct acme *acme, const char *target,
                                         struct arriving *arriving, struct http_response *response)
{
    char range[64];
    const char *headers[] = {range, NULL};
    const struct http_request request = {
        .method = "GET", .target = target, .headers = arriving->bytes > 0 ? headers : NULL, .sink = &arriving->sink};

    snprintf(range, sizeof(range), "Range: bytes=%" PRIu64 "-", arriving->bytes);
    return http_send(call, acme->client, &request, response);
}

static enum sandlot_status download_one(struct sandlot_call *call, struct acme *acme, const char *target,
                                        const struct sandlot_file *file, struct http_response *response)
{
    struct arriving arriving = {.target = file->sink};
    enum sandlot_status status = SANDLOT_UNAVAILABLE;

    arriving.sink = (struct sandlot_sink){sizeof(arriving.sink), &arriving, count_bytes};
    for (int tries = 0; status == SANDLOT_UNAVAILABLE && !arriving.full && tries < DOWNLOAD_TRIES; tries++) {
        uint64_t before = arriving.bytes;

        http_response_clear(response);
        status = download_part(call, acme, target, &arriving, response);
        if (arriving.bytes == before)
            break;
    }
    response->bytes = arriving.bytes;
    return status;
}

/* Moves files one after the other. What one file cannot have is its own fate; all else is everybody's. */
static enum sandlot_status transfer_files(struct sandlot_call *call, struct acme *acme, const struct sandbox *sandbox,
                                          const struct sandlot_file *files, size_t count,
                                          const struct sandlot_transfer *transfer)
{
    for (size_t i = 0; i < count; i++) {
        AUTO_FREE char *target = http_target("/v1/sandboxes/{}/files?path={}", sandbox->id, files[i].path);
        AUTO_RESPONSE struct http_response response = {0};
        struct attempt attempt;
        char mode[16];

        snprintf(mode, sizeof(mode), "%o", files[i].mode);
        if (files[i].mode != 0)
            http_target_add(&target, "mode", mode);
        attempt_begin(&attempt, call, 0);
        enum sandlot_status status = files[i].sink ? download_one(&attempt.call, acme, target, &files[i], &response)
                                                   : upload_one(&attempt.call, acme, target, &files[i], &response);
        const char *error = file_error(&response);

        if (status != SANDLOT_OK && !error)
            return attempt_fail(&attempt, status);
        transfer->done(transfer, i, error, error ? 0 : response.bytes);
    }
    return SANDLOT_OK;
}

static enum sandlot_status acme_transfer(struct sandlot_call *call, void *provider, void *sandbox,
                                         const struct sandlot_file *files, size_t count,
                                         const struct sandlot_transfer *transfer)
{
    return transfer_files(call, provider, sandbox, files, count, transfer);
}

static const struct sandlot_provider acme_provider = {
    SANDLOT_TABLE(acme),           .flags = SANDLOT_STREAMS_OUTPUT,
    .close = acme_close,           .get_or_create = acme_get_or_create,
    .ready = acme_ready,           .release = acme_release,
    .delete_sandbox = acme_delete, .list = acme_list,
    .execute = acme_execute,       .upload = acme_transfer,
    .download = acme_transfer,     .pause = acme_pause,
    .resume = acme_resume,
};

#define ACME_METADATA(M)                                    \
    M(description, "Sandboxes of Acme, which is made up")   \
    M(working_dir, HOME)                                    \
    M(capabilities, "list upload download pause streaming") \
    M(credentials, KEYS)
SANDLOT_ENTRY_POINT(acme, ACME_METADATA, ACME_PARAMETERS);

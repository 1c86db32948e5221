#include "create.h"

#include "listing.h"
#include "policy.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/base64.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/parameters.h>
#include <sandlot/sdk/timestamp.h>

#include <string.h>

enum {
    LONGEST_LIFE_MS = 30 * 60 * 1000,
    LEAST_MEMORY_MB = 768,
    MOST_MEMORY_MB = 4096,
    MOST_LABELS = 5,
    LONGEST_KEY = 64,
    LONGEST_VALUE = 128,
    CREATE_MS = 60 * 1000
};

/* A creation under way. */
struct creation {
    struct deno *deno;
    struct http_client *client;
    const struct sandlot_create *request;
    const char *root;
    char *header; /* what is wanted */
    struct json_object *environment;
    struct lifetime lifetime;
};

/* ---- what is wanted ---------------------------------------------------------------------------------------------- */

static bool fits(const char *key, const char *value)
{
    return strlen(key) <= LONGEST_KEY && strlen(value) <= LONGEST_VALUE;
}

/* The user's own labels, of which one more is ours. */
static enum sandlot_status add_own_labels(struct sandlot_call *call, const struct creation *creation,
                                          struct json_builder *config)
{
    AUTO_DOCUMENT struct json_object *labels = NULL;
    enum sandlot_status status = parameter_texts(call, "labels", creation->deno->parameters.labels, &labels);

    if (status != SANDLOT_OK || !labels)
        return status;
    if (json_object_object_length(labels) >= MOST_LABELS)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "the parameter labels has %d labels; Deno takes %d, of which one is Sandlot's",
                            json_object_object_length(labels), MOST_LABELS);
    json_object_object_foreach(labels, key, value)
    {
        if (!fits(key, json_object_get_string(value)))
            return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                                "the label '%.80s' is too long for Deno: a name has %d bytes at most, a value %d", key,
                                LONGEST_KEY, LONGEST_VALUE);
        json_set_member(config, "labels", key, json_object_get_string(value));
    }
    return SANDLOT_OK;
}

/* The run label finds the sandbox again, so it is always there; Sandlot's others are as far as there is room. */
static enum sandlot_status add_labels(struct sandlot_call *call, const struct creation *creation,
                                      struct json_builder *config)
{
    const struct sandlot_create *request = creation->request;

    json_set_member(config, "labels", LABEL_RUN, request->run_label);
    enum sandlot_status status = add_own_labels(call, creation, config);

    for (size_t i = 0; status == SANDLOT_OK && i < request->label_count; i++) {
        const struct sandlot_label *label = &request->labels[i];
        struct json_object *labels = config->root ? json_object_object_get(config->root, "labels") : NULL;

        if (labels && json_object_object_length(labels) < MOST_LABELS && fits(label->key, label->value) &&
            !json_object_object_get_ex(labels, label->key, NULL))
            json_set_member(config, "labels", label->key, label->value);
    }
    return status;
}

static enum sandlot_status add_volumes(struct sandlot_call *call, const struct creation *creation,
                                       struct json_builder *config)
{
    AUTO_DOCUMENT struct json_object *volumes = NULL;
    enum sandlot_status status = parameter_texts(call, "volumes", creation->deno->parameters.volumes, &volumes);

    json_set_array(config, "volumes");
    if (status != SANDLOT_OK || !volumes)
        return status;
    json_object_object_foreach(volumes, path, volume)
    {
        struct json_builder mount = {0};

        json_set_string(&mount, "volume", json_object_get_string(volume));
        json_set_string(&mount, "path", path);
        json_set_value(config, "volumes[]", mount.root);
    }
    return SANDLOT_OK;
}

static enum sandlot_status build_config(struct sandlot_call *call, const struct creation *creation,
                                        struct json_builder *config)
{
    const struct parameters *parameters = &creation->deno->parameters;

    if (parameters->memory_mb < LEAST_MEMORY_MB || parameters->memory_mb > MOST_MEMORY_MB)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "memory_mb is %lld; Deno takes %d to %d",
                            (long long)parameters->memory_mb, LEAST_MEMORY_MB, MOST_MEMORY_MB);
    json_set_integer(config, "memory_mb", parameters->memory_mb);
    json_set_integer(config, "stop_at_ms", creation->lifetime.ends_ms);
    json_set_string(config, "root.volume", creation->root);
    json_set_text(config, "allow_net", parameters->allow_net);
    if (network_asked(creation->request))
        policy_set(config, network_asked(creation->request));
    json_set_text(config, "secrets", parameters->secrets);
    enum sandlot_status status = add_labels(call, creation, config);

    return status == SANDLOT_OK ? add_volumes(call, creation, config) : status;
}

/* ---- the header -------------------------------------------------------------------------------------------------- */

/* The code of the character that TEXT begins with, in UTF-8 as JSON is, and its length. */
static unsigned int read_character(const char *text, int *length)
{
    const unsigned char *bytes = (const unsigned char *)text;

    *length = bytes[0] < 0x80 ? 1 : bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
    unsigned int code = *length == 1 ? bytes[0] : bytes[0] & (0xffU >> (*length + 1));

    for (int i = 1; i < *length; i++)
        code = code << 6 | (bytes[i] & 0x3fU);
    return code;
}

/* JSON as ASCII, which is right whatever the other side takes a header to be; to be freed. */
static char *as_ascii(const char *json)
{
    char *ascii = malloc(strlen(json) * 6 + 1);
    char *to = ascii;
    int length;

    for (; ascii && *json; json += length) {
        unsigned int code = read_character(json, &length);

        if (code < 0x80)
            *to++ = (char)code;
        else if (code < 0x10000)
            to += sprintf(to, "\\u%04x", code);
        else
            to += sprintf(to, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10), 0xdc00 + ((code - 0x10000) & 0x3ff));
    }
    if (ascii)
        *to = '\0';
    return ascii;
}

static char *make_header(const char *json)
{
    static const char name[] = "x-deno-sandbox-config: ";
    AUTO_FREE char *ascii = json ? as_ascii(json) : NULL;
    char *header = ascii ? malloc(sizeof(name) + (strlen(ascii) + 2) / 3 * 4) : NULL;

    if (header) {
        memcpy(header, name, sizeof(name));
        header[sizeof(name) - 1 + base64_write(header + sizeof(name) - 1, ascii, strlen(ascii))] = '\0';
    }
    return header;
}

/* Keeps out of the log what is to be kept secret in the sandbox. */
static void hide_secrets(struct http_client *client, struct json_object *config)
{
    struct json_object *secrets = json_object_object_get(config, "secrets");

    if (!json_object_is_type(secrets, json_type_object))
        return;
    json_object_object_foreach(secrets, name, secret)
    {
        const char *value = NULL;

        (void)name;
        if (json_find_string(secret, "value", &value, NULL) && value)
            http_client_add_secret(client, value);
    }
}

/* Nothing is asked for longer than Deno gives at a time. */
static struct lifetime wanted_lifetime(const struct sandlot_create *request)
{
    int64_t now_ms = timestamp_now();
    int64_t rest_ms =
        request->idle_ttl_ms > 0 && request->idle_ttl_ms < LONGEST_LIFE_MS ? request->idle_ttl_ms : LONGEST_LIFE_MS;
    int64_t until_ms = request->hard_ttl_ms > 0 ? now_ms + request->hard_ttl_ms : INT64_MAX;

    return (struct lifetime){
        .ends_ms = now_ms + rest_ms < until_ms ? now_ms + rest_ms : until_ms, .rest_ms = rest_ms, .until_ms = until_ms};
}

static enum sandlot_status prepare(struct sandlot_call *call, struct creation *creation)
{
    const struct parameters *parameters = &creation->deno->parameters;
    struct json_builder config = {0};

    creation->root = creation->request->snapshot ? creation->request->snapshot : parameters->root;
    creation->lifetime = wanted_lifetime(creation->request);
    enum sandlot_status status = policy_check(call, creation->deno, network_asked(creation->request));

    if (status == SANDLOT_OK)
        status = parameter_variables(call, "environment", parameters->environment, &creation->environment);
    if (status == SANDLOT_OK)
        status = api_region(call, creation->deno, parameters->region, &creation->client);
    if (status == SANDLOT_OK)
        status = build_config(call, creation, &config);
    if (status == SANDLOT_OK && config.root)
        hide_secrets(creation->client, config.root);
    AUTO_FREE char *json = json_finish(&config, NULL);

    if (status != SANDLOT_OK)
        return status;
    creation->header = make_header(json);
    return creation->header ? SANDLOT_OK
                            : sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                                           "what is wanted of a sandbox at Deno is no UTF-8 or no JSON, or there is "
                                           "not enough memory; look at the parameters");
}

/* ---- asking for it ----------------------------------------------------------------------------------------------- */

/* May there be a sandbox all the same? A refusal by the service itself makes none. */
static bool may_exist(const struct http_response *answer)
{
    return answer->status == 0 || answer->status >= 500 || answer->status == 408 || answer->status == 101;
}

/* One handshake. *LINE: there is a sandbox, whose id is in ANSWER. */
static enum sandlot_status ask(struct sandlot_call *call, const struct creation *creation, struct http_response *answer,
                               struct line **line)
{
    const char *const headers[] = {creation->header, NULL};
    enum sandlot_status status = line_open(call, creation->client, "/api/v3/sandboxes/create", headers, answer, line);
    const char *id = status == SANDLOT_OK ? http_header(answer, "x-deno-sandbox-id") : NULL;

    if (status != SANDLOT_OK || (id && api_is_id(id)))
        return status;
    line_free(*line);
    *line = NULL;
    return sandlot_fail(call, SANDLOT_INTERNAL, "Deno made a sandbox and did not tell its id; try again");
}

static enum sandlot_status adopt(struct sandlot_call *call, const struct creation *creation, const char *id,
                                 struct sandbox **sandbox)
{
    call->host->created(call, id, NULL);
    return sandbox_attach(call, creation->deno, id, sandbox);
}

/* Asks until an answer comes. Before it asks again it looks whether the last time has made one. */
static enum sandlot_status ask_until_answered(struct sandlot_call *call, const struct creation *creation,
                                              struct sandbox **sandbox)
{
    for (int i = 0;; i++) {
        AUTO_RESPONSE struct http_response answer = {0};
        struct line *line = NULL;
        struct attempt attempt;
        char id[ID_SIZE] = "";

        attempt_begin(&attempt, call, CREATE_MS);
        enum sandlot_status status = ask(&attempt.call, creation, &answer, &line);

        if (status == SANDLOT_OK) {
            const char *told = http_header(&answer, "x-deno-sandbox-id");

            call->host->created(call, told, NULL);
            *sandbox = sandbox_new(creation->deno, creation->client, told, line);
            return *sandbox ? SANDLOT_OK : http_no_memory(call);
        }
        if (!sandbox_try_again(call, status, &answer, i))
            return attempt_fail(&attempt, status);
        if (may_exist(&answer))
            status = listing_find(call, creation->deno, creation->request->run_label, id);
        else
            status = SANDLOT_OK;
        if (status != SANDLOT_OK)
            return status;
        if (*id)
            return adopt(call, creation, id, sandbox);
    }
}

/* ---- what is done in it first ------------------------------------------------------------------------------------ */

static enum sandlot_status set_environment(struct sandlot_call *call, const struct creation *creation,
                                           struct line *line)
{
    enum sandlot_status status = SANDLOT_OK;

    if (!creation->environment)
        return SANDLOT_OK;
    json_object_object_foreach(creation->environment, key, value)
    {
        struct json_builder params = {0};
        struct line_message answer;

        json_set_string(&params, "key", key);
        json_set_string(&params, "value", json_object_get_string(value));
        status = line_do(call, line, "envSet", &params, &answer, "set an environment variable");
        if (status != SANDLOT_OK)
            break;
    }
    return status;
}

static enum sandlot_status furnish_once(struct sandlot_call *call, const struct creation *creation,
                                        struct sandbox *sandbox)
{
    struct line *line;
    enum sandlot_status status = sandbox_take(call, sandbox, &line);

    if (status != SANDLOT_OK)
        return status;
    status = set_environment(call, creation, line);
    if (status == SANDLOT_OK)
        status = sandbox_note(call, sandbox, line);
    sandbox_give(call, sandbox, line);
    return status;
}

/* All of it can be done twice. */
static enum sandlot_status furnish(struct sandlot_call *call, const struct creation *creation, struct sandbox *sandbox)
{
    struct attempt attempt;

    sandbox->lifetime = creation->lifetime;
    snprintf(sandbox->root, sizeof(sandbox->root), "%s", creation->root ? creation->root : "");
    sandbox->known = true;
    attempt_begin(&attempt, call, 0);
    enum sandlot_status status = furnish_once(&attempt.call, creation, sandbox);

    if (status == SANDLOT_UNAVAILABLE)
        return furnish_once(call, creation, sandbox);
    return status == SANDLOT_OK ? status : attempt_fail(&attempt, status);
}

enum sandlot_status create_sandbox(struct sandlot_call *call, struct deno *deno, const struct sandlot_create *request,
                                   struct sandbox **sandbox)
{
    struct creation creation = {.deno = deno, .request = request};
    struct sandbox *made = NULL;
    enum sandlot_status status = prepare(call, &creation);

    if (status == SANDLOT_OK)
        status = ask_until_answered(call, &creation, &made);
    if (status == SANDLOT_OK && made)
        status = furnish(call, &creation, made);
    json_object_put(creation.environment);
    free(creation.header);
    if (status == SANDLOT_OK)
        *sandbox = made;
    else
        sandbox_release(deno, made);
    return status;
}

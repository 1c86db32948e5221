#include "registry.h"

#include "address.h"
#include "engine.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/base64.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/process.h>

#include <stdlib.h>
#include <string.h>

enum { HELPER_MS = 30 * 1000 };

static const char docker_hub[] = "https://index.docker.io/v1/";

/* Who answers to a name: what is before the first "/", if that can be a host. To be freed. */
static char *registry_of(const char *image)
{
    size_t first = strcspn(image, "/");
    bool is_host = image[first] == '/' && (memchr(image, '.', first) || memchr(image, ':', first) ||
                                           (first == 9 && strncmp(image, "localhost", 9) == 0));

    if (!is_host || (first == 9 && strncmp(image, "docker.io", 9) == 0))
        return strdup(docker_hub);
    return strndup(image, first);
}

/* ---- what to send ------------------------------------------------------------------------------------------------ */

/* With padding, and for URLs: Podman wants the one, dockerd the other. */
static char *encode(const char *text)
{
    static const char name[] = "X-Registry-Auth: ";
    size_t length = strlen(text);
    char *header = malloc(sizeof(name) + (length + 2) / 3 * 4);

    if (!header)
        return NULL;
    memcpy(header, name, sizeof(name) - 1);
    size_t written = base64_write(header + sizeof(name) - 1, text, length);

    header[sizeof(name) - 1 + written] = '\0';
    for (char *at = header + sizeof(name) - 1; *at; at++)
        *at = *at == '+' ? '-' : *at == '/' ? '_' : *at; /* no space: the value is one word */
    return header;
}

static char *make_header(const char *user, const char *secret, const char *registry)
{
    struct json_builder builder = {0};
    bool token = strcmp(user, "<token>") == 0; /* what helpers call one that is no password */

    json_set_string(&builder, token ? "identitytoken" : "username", token ? secret : user);
    if (!token)
        json_set_string(&builder, "password", secret);
    json_set_string(&builder, "serveraddress", registry);
    AUTO_FREE char *text = json_finish(&builder, NULL);
    char *header = text ? encode(text) : NULL;

    if (text)
        explicit_bzero(text, strlen(text));
    return header;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* The member of OBJECT for REGISTRY, which people also write as an address. */
static struct json_object *member_for(struct json_object *object, const char *registry)
{
    static const char *const forms[] = {"%s", "https://%s", "http://%s", "https://%s/v1/", "https://%s/v2/"};
    struct json_object *found = NULL;

    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms) && !found; i++) {
        AUTO_FREE char *key = NULL;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        if (asprintf(&key, forms[i], registry) < 0)
            key = NULL;
#pragma GCC diagnostic pop
        if (key)
            json_object_object_get_ex(object, key, &found);
    }
    return found;
}

/* From "auth", which is user:password in base64. */
static char *from_auth(const char *auth, const char *registry)
{
    AUTO_FREE char *plain = malloc(strlen(auth) + 1);
    size_t length = plain ? base64_read(plain, auth, strlen(auth)) : SIZE_MAX;

    if (length == SIZE_MAX)
        return NULL;
    plain[length] = '\0';
    char *password = strchr(plain, ':');

    if (password)
        *password++ = '\0';
    char *header = password ? make_header(plain, password, registry) : NULL;

    explicit_bzero(plain, length);
    return header;
}

static char *from_file(struct json_object *config, const char *registry)
{
    struct json_object *auths = NULL;
    const char *auth = NULL;
    const char *token = NULL;
    const char *user = NULL;
    const char *password = NULL;

    json_find_object(config, "auths", &auths, NULL);
    struct json_object *entry = auths ? member_for(auths, registry) : NULL;

    if (!json_object_is_type(entry, json_type_object))
        return NULL;
    json_find_string(entry, "identitytoken", &token, NULL);
    json_find_string(entry, "auth", &auth, NULL);
    json_find_string(entry, "username", &user, NULL);
    json_find_string(entry, "password", &password, NULL);
    if (token && *token)
        return make_header("<token>", token, registry);
    if (auth && *auth)
        return from_auth(auth, registry);
    return user && password ? make_header(user, password, registry) : NULL;
}

/* ---- helpers ----------------------------------------------------------------------------------------------------- */

/* The helper that is in charge of REGISTRY; NULL: none. */
static const char *helper_for(struct json_object *config, const char *registry)
{
    struct json_object *helpers = NULL;
    const char *helper = NULL;

    json_find_object(config, "credHelpers", &helpers, NULL);
    struct json_object *own = helpers ? member_for(helpers, registry) : NULL;

    if (json_object_is_type(own, json_type_string))
        helper = json_object_get_string(own);
    else
        json_find_string(config, "credsStore", &helper, NULL);
    return helper && *helper && !strchr(helper, '/') ? helper : NULL;
}

struct line_source {
    struct sandlot_source source;
    const char *text;
};

static enum sandlot_status read_line(const struct sandlot_source *source, void *buffer, size_t capacity, size_t *length)
{
    struct line_source *line = source->context;
    size_t left = strlen(line->text);

    *length = left < capacity ? left : capacity;
    memcpy(buffer, line->text, *length);
    line->text += *length;
    return SANDLOT_OK;
}

static enum sandlot_status from_helper(struct sandlot_call *call, const char *helper, const char *registry,
                                       char **header)
{
    AUTO_FREE char *program = NULL;
    AUTO_FREE char *said = NULL;
    const char *user = "";
    const char *secret = "";
    struct line_source line = {.text = registry};

    if (asprintf(&program, "docker-credential-%s", helper) < 0)
        return engine_no_memory(call);
    line.source =
        (struct sandlot_source){.size = sizeof(line.source), .context = &line, .read = read_line, .poll_fd = -1};
    const char *const words[] = {program, "get", NULL};
    const struct process_options options = {
        .arguments = words, .input = &line.source, .timeout_ms = HELPER_MS, .failure = SANDLOT_AUTH};
    enum sandlot_status status = process_read(call, &options, &said, NULL);

    if (status != SANDLOT_OK)
        return status;
    AUTO_DOCUMENT struct json_object *answer = json_read_document(said, strlen(said), NULL);

    json_find_string(answer, "Username", &user, NULL);
    json_find_string(answer, "Secret", &secret, NULL);
    if (*secret)
        *header = make_header(user, secret, registry);
    explicit_bzero(said, strlen(said));
    return SANDLOT_OK;
}

/* ---- all together ------------------------------------------------------------------------------------------------ */

static enum sandlot_status ask_helper(struct sandlot_call *call, const char *helper, const char *registry,
                                      char **header)
{
    struct attempt attempt;
    char line[sizeof(attempt.reason) + 96];

    attempt_begin(&attempt, call, 0);
    enum sandlot_status status = from_helper(&attempt.call, helper, registry, header);

    if (status == SANDLOT_CANCELLED)
        return attempt_fail(&attempt, status);
    if (status != SANDLOT_OK && !engine_says(attempt.reason, "not found in native keychain")) {
        snprintf(line, sizeof(line), "no credentials for %.60s: %s", registry, attempt.reason);
        call->host->log(call, SANDLOT_LOG_WARNING, line);
    }
    return SANDLOT_OK;
}

/* To be freed; HELPER NULL: the file itself says it. */
static char *make_origin(const char *folder, const char *helper)
{
    char *origin = NULL;
    int length = helper ? asprintf(&origin, "docker-credential-%s, which %s/config.json names", helper, folder)
                        : asprintf(&origin, "%s/config.json", folder);

    return length < 0 ? NULL : origin;
}

/* The helper goes before the file, which may know what the helper does not. */
static enum sandlot_status look(struct sandlot_call *call, struct json_object *config, struct registry_login *login,
                                const char **helper)
{
    enum sandlot_status status = SANDLOT_OK;

    *helper = helper_for(config, login->registry);
    if (*helper)
        status = ask_helper(call, *helper, login->registry, &login->header);
    if (status != SANDLOT_OK || login->header)
        return status;
    login->header = from_file(config, login->registry);
    if (login->header)
        *helper = NULL;
    return status;
}

enum sandlot_status registry_find(struct sandlot_call *call, const char *image, struct registry_login *login)
{
    AUTO_DOCUMENT struct json_object *config = address_config(call);
    AUTO_FREE char *folder = address_config_folder(call);
    const char *helper = NULL;
    enum sandlot_status status = SANDLOT_OK;

    *login = (struct registry_login){.registry = registry_of(image)};
    if (!login->registry || !folder)
        return engine_no_memory(call);
    if (json_object_is_type(config, json_type_object))
        status = look(call, config, login, &helper);
    login->origin = make_origin(folder, helper);
    return status != SANDLOT_OK || login->origin ? status : engine_no_memory(call);
}

void registry_clear(struct registry_login *login)
{
    if (login->header)
        explicit_bzero(login->header, strlen(login->header));
    free(login->registry);
    free(login->header);
    free(login->origin);
    *login = (struct registry_login){0};
}

#include "access.h"

#include "program.h"

#include <sandlot/sdk/base64.h>
#include <sandlot/sdk/json.h>
#include <sandlot/sdk/pause.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TOKEN_FILE_MS = 60 * 1000, LONGEST_TOKEN = 64 << 10, MOST_HEADERS = 64, SILENCE_MS = 60 * 1000 };

static const char service[] = "Kubernetes";

static enum sandlot_status no_memory(struct sandlot_call *call)
{
    return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory to reach the cluster; free some");
}

/* ---- the client -------------------------------------------------------------------------------------------------- */

/* "Impersonate-User: x" and one "Impersonate-Group: y" each. */
static enum sandlot_status impersonate(struct sandlot_call *call, const struct cluster *cluster, char **headers)
{
    size_t used = 0;
    size_t count = cluster->impersonate_groups ? json_object_array_length(cluster->impersonate_groups) : 0;

    if (!cluster->impersonate)
        return SANDLOT_OK;
    if (count + 1 >= MOST_HEADERS)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "the kubeconfig %.200s has more than %d as-groups; use fewer", cluster->source,
                            MOST_HEADERS - 2);
    if (asprintf(&headers[used++], "Impersonate-User: %s", cluster->impersonate) < 0)
        return headers[used - 1] = NULL, no_memory(call);
    for (size_t i = 0; i < count; i++) {
        struct json_object *group = json_object_array_get_idx(cluster->impersonate_groups, i);

        if (asprintf(&headers[used++], "Impersonate-Group: %s", json_object_get_string(group)) < 0)
            return headers[used - 1] = NULL, no_memory(call);
    }
    return SANDLOT_OK;
}

/* Where connections go if the certificate is for another name: "host:port" of the server, to be freed. */
static char *real_address(const char *url)
{
    const char *host = strstr(url, "://");

    if (!host)
        return NULL;
    host += 3;
    size_t length = strcspn(host, "/?#");
    const char *bracket = memchr(host, ']', length);
    const char *colon = memrchr(bracket ? bracket : host, ':', length - (size_t)((bracket ? bracket : host) - host));
    char *made;

    return asprintf(&made, colon ? "%.*s" : "%.*s:443", (int)length, host) < 0 ? NULL : made;
}

/* URL with NAME in the place of its host, to be freed. */
static char *renamed(const char *url, const char *name)
{
    const char *host = strstr(url, "://");
    AUTO_FREE char *real = real_address(url);
    char *made = NULL;

    if (!host || !real)
        return NULL;
    const char *path = host + 3 + strcspn(host + 3, "/?#");

    return asprintf(&made, "%.*s://%s:%s%s", (int)(host - url), url, name, strrchr(real, ':') + 1, path) < 0 ? NULL
                                                                                                             : made;
}

/* ADDRESS is the server's with "#generation" behind. */
static enum sandlot_status open_client(struct sandlot_call *call, void *context, const char *address, void **client)
{
    struct access *access = context;
    const struct cluster *cluster = &access->cluster;
    static const int repeated[] = {500, 0}; /* nothing that is asked here does more if it is asked twice */
    char *headers[MOST_HEADERS] = {NULL};
    AUTO_FREE char *plain = strndup(address, strcspn(address, "#"));
    AUTO_FREE char *named = plain && cluster->server_name ? renamed(plain, cluster->server_name) : NULL;
    AUTO_FREE char *real = plain && cluster->server_name ? real_address(plain) : NULL;
    const struct http_tls tls = {.authorities = cluster->authorities,
                                 .certificate = cluster->certificate,
                                 .key = cluster->key,
                                 .unverified = cluster->unverified};
    enum sandlot_status status = impersonate(call, cluster, headers);
    const struct http_options options = {.service = service,
                                         .base_url = named ? named : plain,
                                         .headers = (const char *const *)headers,
                                         .user_agent = "sandlot",
                                         .repeated = repeated,
                                         .silence_ms = SILENCE_MS,
                                         .tls = &tls,
                                         .proxy = cluster->proxy,
                                         .connect_to = real};
    struct http_client *made = NULL;

    if (status == SANDLOT_OK && (!plain || (cluster->server_name && (!named || !real))))
        status = no_memory(call);
    if (status == SANDLOT_OK)
        status = http_client_open(call, &options, &made);
    for (size_t i = 0; i < MOST_HEADERS && headers[i]; i++)
        free(headers[i]);
    *client = made;
    return status;
}

/* ---- settling ---------------------------------------------------------------------------------------------------- */

void access_init(struct access *access, const struct parameters *parameters)
{
    access->parameters = *parameters;
    pthread_mutex_init(&access->lock, NULL);
    clients_init(&access->clients, access, open_client, clients_close_http);
}

static void forget_token(struct access *access)
{
    if (access->token)
        explicit_bzero(access->token, strlen(access->token));
    free(access->token);
    access->token = NULL;
}

void access_clear(struct access *access)
{
    clients_clear(&access->clients);
    forget_token(access);
    cluster_clear(&access->cluster);
    free(access->address);
    pthread_mutex_destroy(&access->lock);
}

static bool is_loopback(const char *url)
{
    static const char *const hosts[] = {"http://127.", "http://localhost", "http://[::1]"};

    for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
        size_t length = strlen(hosts[i]);

        if (strncasecmp(url, hosts[i], length) == 0 && (i == 0 || !url[length] || strchr(":/", url[length])))
            return true;
    }
    return false;
}

static bool has_credentials(const struct cluster *cluster)
{
    return cluster->token || cluster->token_file || cluster->program || cluster->password;
}

/* What is secret travels inside TLS, or not at all; what never leaves this machine is another matter. */
static enum sandlot_status check_address(struct sandlot_call *call, const struct access *access)
{
    if (strncasecmp(access->address, "http://", 7) != 0 || is_loopback(access->address) ||
        !has_credentials(&access->cluster))
        return SANDLOT_OK;
    return sandlot_fail(
        call, SANDLOT_INVALID_ARGUMENT,
        "the API server %.200s is not reached by https, and the token of the kubeconfig would be seen by "
        "others; use its https address",
        access->address);
}

static enum sandlot_status settle(struct sandlot_call *call, struct access *access)
{
    const struct cluster_wish wish = {access->parameters.kubeconfig, access->parameters.context};
    const char *own = access->parameters.base_url;
    enum sandlot_status status = cluster_find(call, &wish, &access->cluster);

    if (status != SANDLOT_OK) {
        cluster_clear(&access->cluster);
        return status;
    }
    free(access->address);
    access->address = strdup(own && *own ? own : access->cluster.server);
    if (!access->address)
        return no_memory(call);
    status = check_address(call, access);
    access->settled = status == SANDLOT_OK;
    if (!access->settled)
        cluster_clear(&access->cluster);
    return status;
}

static enum sandlot_status lock(struct sandlot_call *call, struct access *access)
{
    if (pause_until_locked(call, &access->lock))
        return SANDLOT_OK;
    return sandlot_cancelled(call)
               ? sandlot_fail(call, SANDLOT_CANCELLED, "the call was cancelled; try again")
               : sandlot_fail(call, SANDLOT_TIMEOUT, "the credentials of the cluster came too late; try again");
}

enum sandlot_status access_settle(struct sandlot_call *call, struct access *access)
{
    enum sandlot_status status = lock(call, access);

    if (status != SANDLOT_OK)
        return status;
    if (!access->settled)
        status = settle(call, access);
    pthread_mutex_unlock(&access->lock);
    return status;
}

const char *access_namespace(const struct access *access)
{
    const char *own = access->parameters.namespace;

    return own && *own ? own : access->cluster.namespace_;
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

bool access_can_refresh(const struct access *access)
{
    return access->cluster.program || access->cluster.token_file;
}

static enum sandlot_status read_token(struct sandlot_call *call, struct access *access)
{
    const char *path = access->cluster.token_file;
    char *token = cluster_read_file(path, LONGEST_TOKEN);

    if (!token)
        return sandlot_fail(call, SANDLOT_AUTH,
                            "the file with the token for the cluster, %.200s, cannot be read: %s; check it", path,
                            strerror(errno));
    token[strcspn(token, " \t\r\n")] = '\0';
    forget_token(access);
    access->token = token;
    access->token_until_ms = sandlot_now_ms() + TOKEN_FILE_MS;
    return SANDLOT_OK;
}

/* What the program has given takes the place of what there was. */
static void take_given(struct access *access, struct program_answer *answer)
{
    forget_token(access);
    access->token = answer->token;
    answer->token = NULL;
    access->token_until_ms = answer->until_ms;
    if (!answer->certificate)
        return;
    free(access->cluster.certificate);
    free(access->cluster.key);
    access->cluster.certificate = answer->certificate;
    access->cluster.key = answer->key;
    answer->certificate = answer->key = NULL;
    access->generation++;
}

static enum sandlot_status ask_program(struct sandlot_call *call, struct access *access)
{
    AUTO_PROGRAM_ANSWER struct program_answer answer = {0};
    enum sandlot_status status = program_run(call, &access->cluster, &answer);

    if (status == SANDLOT_OK)
        take_given(access, &answer);
    return status;
}

static enum sandlot_status refresh(struct sandlot_call *call, struct access *access, bool fresh)
{
    bool due = access->token_until_ms != 0 && sandlot_now_ms() >= access->token_until_ms;

    if (access->credentials_had && !due && !fresh)
        return SANDLOT_OK;
    enum sandlot_status status = SANDLOT_OK;

    if (access->cluster.token_file)
        status = read_token(call, access);
    else if (access->cluster.program)
        status = ask_program(call, access);
    access->credentials_had = status == SANDLOT_OK;
    return status;
}

/* ---- the way ----------------------------------------------------------------------------------------------------- */

void way_clear(struct way *way)
{
    if (way->authorization)
        explicit_bzero(way->authorization, strlen(way->authorization));
    free(way->authorization);
    way->authorization = NULL;
}

static bool make_basic(const struct cluster *cluster, char **header)
{
    AUTO_FREE char *pair = NULL;
    AUTO_FREE char *text = NULL;

    if (asprintf(&pair, "%s:%s", cluster->user_name, cluster->password) < 0)
        return pair = NULL, false;
    text = calloc(1, strlen(pair) * 2 + 8);
    if (!text)
        return false;
    base64_write(text, pair, strlen(pair));
    return asprintf(header, "Authorization: Basic %s", text) >= 0;
}

static bool make_authorization(const struct access *access, char **header)
{
    const char *token = access->token ? access->token : access->cluster.token;

    *header = NULL;
    if (token)
        return asprintf(header, "Authorization: Bearer %s", token) >= 0 || (*header = NULL, false);
    if (access->cluster.user_name && access->cluster.password)
        return make_basic(&access->cluster, header) || (*header = NULL, false);
    return true;
}

static enum sandlot_status find_way(struct sandlot_call *call, struct access *access, bool fresh, struct way *way)
{
    enum sandlot_status status = access->settled ? SANDLOT_OK : settle(call, access);
    AUTO_FREE char *address = NULL;

    if (status == SANDLOT_OK)
        status = refresh(call, access, fresh);
    if (status != SANDLOT_OK)
        return status;
    if (asprintf(&address, "%s#%d", access->address, access->generation) < 0) {
        address = NULL;
        return no_memory(call);
    }
    status = clients_get(call, &access->clients, address, &way->client);
    if (status != SANDLOT_OK)
        return status;
    if (!make_authorization(access, &way->authorization))
        return no_memory(call);
    if (way->authorization)
        http_client_add_secret(way->client, strrchr(way->authorization, ' ') + 1);
    return SANDLOT_OK;
}

enum sandlot_status access_way(struct sandlot_call *call, struct access *access, bool fresh, struct way *way)
{
    *way = (struct way){0};
    enum sandlot_status status = lock(call, access);

    if (status != SANDLOT_OK)
        return status;
    status = find_way(call, access, fresh, way);
    pthread_mutex_unlock(&access->lock);
    return status;
}

#include "cluster.h"

#include "yaml_document.h"

#include <sandlot/sdk/base64.h>
#include <sandlot/sdk/json.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 32, LONGEST_FILE = 8 << 20, LONGEST_ACCOUNT_FILE = 1 << 20 };

/* One file. */
struct part {
    char *path;
    struct json_object *document;
};

/* Several, of which the first to name a thing has the say. */
struct configuration {
    struct part parts[MOST_FILES];
    size_t count;
};

static enum sandlot_status no_memory(struct sandlot_call *call)
{
    return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory to read the kubeconfig; free some");
}

void cluster_clear(struct cluster *cluster)
{
    char *const texts[] = {cluster->server,     cluster->server_name, cluster->proxy,    cluster->authorities,
                           cluster->namespace_, cluster->certificate, cluster->key,      cluster->token,
                           cluster->token_file, cluster->user_name,   cluster->password, cluster->impersonate,
                           cluster->folder,     cluster->source};

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        if (texts[i])
            explicit_bzero(texts[i], strlen(texts[i]));
        free(texts[i]);
    }
    json_object_put(cluster->impersonate_groups);
    json_object_put(cluster->program);
    *cluster = (struct cluster){0};
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

char *cluster_read_file(const char *path, size_t limit)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t length = 0;
    size_t capacity = 0;

    if (!file)
        return NULL;
    for (size_t more = 1; more > 0 && length <= limit; length += more) {
        if (length + 1 >= capacity) {
            capacity = capacity ? capacity * 2 : 4096;
            char *larger = realloc(text, capacity);

            if (!larger) {
                free(text);
                fclose(file);
                errno = ENOMEM;
                return NULL;
            }
            text = larger;
        }
        more = fread(text + length, 1, capacity - length - 1, file);
    }
    bool broken = ferror(file) != 0;

    fclose(file);
    if (broken || length > limit) {
        free(text);
        errno = broken ? EIO : EFBIG;
        return NULL;
    }
    text[length] = '\0';
    return text;
}

/* The folder of PATH, to be freed. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
}

/* NAME as seen from the folder of FILE, to be freed. */
static char *path_beside(const char *file, const char *name)
{
    AUTO_FREE char *folder = *name == '/' ? NULL : folder_of(file);
    char *made = NULL;

    if (*name == '/')
        return strdup(name);
    return folder && asprintf(&made, "%s/%s", folder, name) >= 0 ? made : NULL;
}

static enum sandlot_status read_part(struct sandlot_call *call, struct configuration *configuration, const char *path,
                                     bool required)
{
    AUTO_FREE char *text = cluster_read_file(path, LONGEST_FILE);
    char reason[128];

    if (!text && errno == ENOENT && !required)
        return SANDLOT_OK;
    if (!text)
        return sandlot_fail(call, SANDLOT_AUTH,
                            "the kubeconfig %.200s cannot be read: %s; check the parameter kubeconfig, or KUBECONFIG",
                            path, strerror(errno));
    if (!required && text[strspn(text, " \t\r\n")] == '\0') /* as /dev/null is: nothing is said in it */
        return SANDLOT_OK;
    struct part part = {strdup(path), yaml_read(text, strlen(text), reason, sizeof(reason))};

    explicit_bzero(text, strlen(text));
    if (part.path && json_object_is_type(part.document, json_type_object)) {
        configuration->parts[configuration->count++] = part;
        return SANDLOT_OK;
    }
    enum sandlot_status status =
        sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "the kubeconfig %.200s makes no sense: %s; correct it", path,
                     part.document ? "it is no mapping" : reason);

    free(part.path);
    json_object_put(part.document);
    return status;
}

static bool is_in_cluster(struct sandlot_call *call)
{
    return call->host->environment(call, "KUBERNETES_SERVICE_HOST") &&
           call->host->environment(call, "KUBERNETES_SERVICE_PORT");
}

/*
 * PATHS has ":" between them. Files that are not there, or are empty, are passed over, as kubectl does, but for one
 * that a parameter names, ASKED; in a cluster the variable may even name none that is there.
 */
static enum sandlot_status read_list(struct sandlot_call *call, struct configuration *configuration, const char *paths,
                                     bool asked)
{
    AUTO_FREE char *list = strdup(paths);
    bool single = asked && !strchr(paths, ':');
    char *rest = NULL;

    if (!list)
        return no_memory(call);
    for (char *path = strtok_r(list, ":", &rest); path; path = strtok_r(NULL, ":", &rest)) {
        enum sandlot_status status = configuration->count < MOST_FILES
                                         ? read_part(call, configuration, path, single)
                                         : sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                                                        "KUBECONFIG names more than %d files; use fewer", MOST_FILES);

        if (status != SANDLOT_OK)
            return status;
    }
    return configuration->count > 0 || (!asked && is_in_cluster(call))
               ? SANDLOT_OK
               : sandlot_fail(call, SANDLOT_AUTH,
                              "none of the files of %s (%.200s) is there and says anything; set it anew",
                              asked ? "the parameter kubeconfig" : "KUBECONFIG", paths);
}

static enum sandlot_status read_all(struct sandlot_call *call, const struct cluster_wish *wish,
                                    struct configuration *configuration)
{
    const char *variable = call->host->environment(call, "KUBECONFIG");
    const char *home = call->host->environment(call, "HOME");
    AUTO_FREE char *usual = NULL;

    if (wish->kubeconfig && *wish->kubeconfig)
        return read_list(call, configuration, wish->kubeconfig, true);
    if (variable)
        return read_list(call, configuration, variable, false);
    if (!home || *home != '/')
        return SANDLOT_OK;
    if (asprintf(&usual, "%s/.kube/config", home) < 0) {
        usual = NULL;
        return no_memory(call);
    }
    return read_part(call, configuration, usual, false);
}

/* ---- names in it ------------------------------------------------------------------------------------------------- */

/* The element NAME of LIST ("clusters"), whose content is called WHAT ("cluster"), and the file that has it. */
static struct json_object *find_named(const struct configuration *configuration, const char *list, const char *what,
                                      const char *name, const char **path)
{
    for (size_t i = 0; i < configuration->count; i++) {
        struct json_object *items = NULL;

        json_find_array(configuration->parts[i].document, list, &items, NULL);
        for (size_t at = 0; items && at < json_object_array_length(items); at++) {
            struct json_object *item = json_object_array_get_idx(items, at);
            struct json_object *content = NULL;
            const char *own = NULL;

            if (json_object_is_type(item, json_type_object) && json_find_string(item, "name", &own, NULL) && own &&
                strcmp(own, name) == 0 && json_find_object(item, what, &content, NULL) && content) {
                *path = configuration->parts[i].path;
                return content;
            }
        }
    }
    return NULL;
}

static const char *current_context(const struct configuration *configuration)
{
    for (size_t i = 0; i < configuration->count; i++) {
        const char *name = NULL;

        json_find_string(configuration->parts[i].document, "current-context", &name, NULL);
        if (name && *name)
            return name;
    }
    return NULL;
}

static const char *text_of(struct json_object *object, const char *key)
{
    struct json_object *value = object ? json_object_object_get(object, key) : NULL;
    const char *text = json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;

    return text && *text ? text : NULL;
}

/* False: out of memory. */
static bool keep(char **place, const char *text)
{
    *place = text ? strdup(text) : NULL;
    return !text || *place;
}

/* ---- certificates and keys --------------------------------------------------------------------------------------- */

static char *decode(const char *text)
{
    size_t length = strlen(text);
    char *bytes = malloc(length + 1);
    char *packed = malloc(length + 1);
    size_t used = 0;
    size_t size = SIZE_MAX;

    for (size_t i = 0; packed && i < length; i++) /* people wrap it */
        if (!strchr(" \t\r\n", text[i]))
            packed[used++] = text[i];
    if (bytes && packed)
        size = base64_read(bytes, packed, used);
    free(packed);
    if (size == SIZE_MAX) {
        free(bytes);
        return NULL;
    }
    bytes[size] = '\0';
    return bytes;
}

/* The PEM of KEY, which stands in OBJECT itself (KEY-data, in base64) or in a file beside PATH. */
static enum sandlot_status take_pem(struct sandlot_call *call, struct json_object *object, const char *path,
                                    const char *key, char **pem)
{
    char data_key[64];
    const char *name = text_of(object, key);

    snprintf(data_key, sizeof(data_key), "%s-data", key);
    const char *data = text_of(object, data_key);

    if (data) {
        *pem = decode(data);
        return *pem ? SANDLOT_OK
                    : sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                                   "%s in the kubeconfig %.200s is no base64; correct it", data_key, path);
    }
    if (!name)
        return SANDLOT_OK;
    AUTO_FREE char *file = path_beside(path, name);

    if (!file)
        return no_memory(call);
    *pem = cluster_read_file(file, LONGEST_ACCOUNT_FILE);
    return *pem ? SANDLOT_OK
                : sandlot_fail(call, SANDLOT_AUTH, "%s of the kubeconfig, %.200s, cannot be read: %s; check that file",
                               key, file, strerror(errno));
}

/* ---- what a context names ---------------------------------------------------------------------------------------- */

static enum sandlot_status take_cluster(struct sandlot_call *call, struct json_object *found, const char *path,
                                        struct cluster *cluster)
{
    if (!text_of(found, "server"))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "the cluster of the kubeconfig %.200s has no server; correct it", path);
    cluster->unverified = yaml_is_true(json_object_object_get(found, "insecure-skip-tls-verify"));
    if (!keep(&cluster->server, text_of(found, "server")) || !keep(&cluster->proxy, text_of(found, "proxy-url")) ||
        !keep(&cluster->server_name, text_of(found, "tls-server-name")))
        return no_memory(call);
    return take_pem(call, found, path, "certificate-authority", &cluster->authorities);
}

static enum sandlot_status take_user(struct sandlot_call *call, struct json_object *found, const char *path,
                                     struct cluster *cluster)
{
    const char *token_file = text_of(found, "tokenFile");
    struct json_object *groups = NULL;
    struct json_object *program = NULL;

    if (json_object_object_get(found, "auth-provider"))
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "the user of the kubeconfig %.200s has an auth-provider, which Kubernetes gave up in 1.26; "
                            "have it written anew, with exec",
                            path);
    json_find_array(found, "as-groups", &groups, NULL);
    json_find_object(found, "exec", &program, NULL);
    cluster->impersonate_groups = json_object_get(groups);
    cluster->program = json_object_get(program);
    cluster->token_file = token_file ? path_beside(path, token_file) : NULL;
    cluster->folder = folder_of(path);
    if ((token_file && !cluster->token_file) || !cluster->folder || !keep(&cluster->source, path) ||
        !keep(&cluster->token, text_of(found, "token")) || !keep(&cluster->user_name, text_of(found, "username")) ||
        !keep(&cluster->password, text_of(found, "password")) || !keep(&cluster->impersonate, text_of(found, "as")))
        return no_memory(call);
    enum sandlot_status status = take_pem(call, found, path, "client-certificate", &cluster->certificate);

    return status == SANDLOT_OK ? take_pem(call, found, path, "client-key", &cluster->key) : status;
}

static enum sandlot_status take_context(struct sandlot_call *call, const struct configuration *configuration,
                                        const char *name, struct cluster *cluster)
{
    const char *path = configuration->parts[0].path;
    struct json_object *context = find_named(configuration, "contexts", "context", name, &path);

    if (!context)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "the kubeconfig %.200s has no context '%.100s'; `kubectl config get-contexts` lists them",
                            path, name);
    const char *cluster_name = text_of(context, "cluster");
    const char *user_name = text_of(context, "user");

    if (!keep(&cluster->namespace_, text_of(context, "namespace")))
        return no_memory(call);
    struct json_object *found =
        cluster_name ? find_named(configuration, "clusters", "cluster", cluster_name, &path) : NULL;

    if (!found)
        return sandlot_fail(
            call, SANDLOT_INVALID_ARGUMENT,
            "the kubeconfig %.200s has no cluster '%.100s', which its context '%.100s' names; correct it", path,
            cluster_name ? cluster_name : "", name);
    enum sandlot_status status = take_cluster(call, found, path, cluster);

    if (status != SANDLOT_OK || !user_name)
        return status;
    found = find_named(configuration, "users", "user", user_name, &path);
    return found ? take_user(call, found, path, cluster)
                 : sandlot_fail(
                       call, SANDLOT_INVALID_ARGUMENT,
                       "the kubeconfig %.200s has no user '%.100s', which its context '%.100s' names; correct it", path,
                       user_name, name);
}

static enum sandlot_status take(struct sandlot_call *call, const struct configuration *configuration,
                                const struct cluster_wish *wish, struct cluster *cluster)
{
    const char *name = wish->context && *wish->context ? wish->context : current_context(configuration);

    if (!name)
        return sandlot_fail(
            call, SANDLOT_INVALID_ARGUMENT,
            "the kubeconfig %.200s has no current context; set one with `kubectl config use-context`, or "
            "the parameter context",
            configuration->parts[0].path);
    return take_context(call, configuration, name, cluster);
}

/* ---- in the cluster ---------------------------------------------------------------------------------------------- */

#define ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

static enum sandlot_status find_account(struct sandlot_call *call, struct cluster *cluster)
{
    const char *host = call->host->environment(call, "KUBERNETES_SERVICE_HOST");
    const char *port = call->host->environment(call, "KUBERNETES_SERVICE_PORT");
    const char *folder = call->host->environment(call, "KUBERNETES_SERVICE_ACCOUNT_FOLDER");
    AUTO_FREE char *namespace_file = NULL;
    AUTO_FREE char *authorities_file = NULL;

    folder = folder ? folder : ACCOUNT;
    if (!host || !port)
        return sandlot_fail(call, SANDLOT_AUTH,
                            "there is no cluster to ask: no file ~/.kube/config, and KUBECONFIG is not set; set it, or "
                            "the parameter kubeconfig");
    bool bracketed = strchr(host, ':') && *host != '[';

    if (asprintf(&cluster->server, bracketed ? "https://[%s]:%s" : "https://%s:%s", host, port) < 0) {
        cluster->server = NULL;
        return no_memory(call);
    }
    if (asprintf(&cluster->token_file, "%s/token", folder) < 0) {
        cluster->token_file = NULL;
        return no_memory(call);
    }
    if (asprintf(&namespace_file, "%s/namespace", folder) < 0 || asprintf(&authorities_file, "%s/ca.crt", folder) < 0)
        return no_memory(call);
    cluster->namespace_ = cluster_read_file(namespace_file, LONGEST_ACCOUNT_FILE);
    cluster->authorities = cluster_read_file(authorities_file, LONGEST_ACCOUNT_FILE);
    if (cluster->namespace_)
        cluster->namespace_[strcspn(cluster->namespace_, " \r\n")] = '\0';
    return keep(&cluster->source, folder) ? SANDLOT_OK : no_memory(call);
}

enum sandlot_status cluster_find(struct sandlot_call *call, const struct cluster_wish *wish, struct cluster *cluster)
{
    struct configuration configuration = {0};
    enum sandlot_status status;

    *cluster = (struct cluster){0};
    status = read_all(call, wish, &configuration);
    if (status == SANDLOT_OK)
        status = configuration.count > 0 ? take(call, &configuration, wish, cluster) : find_account(call, cluster);
    for (size_t i = 0; i < configuration.count; i++) {
        free(configuration.parts[i].path);
        json_object_put(configuration.parts[i].document);
    }
    if (status == SANDLOT_OK && (!cluster->namespace_ || !*cluster->namespace_)) {
        free(cluster->namespace_);
        if (!keep(&cluster->namespace_, "default"))
            status = no_memory(call);
    }
    return status;
}

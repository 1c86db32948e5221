#include "program.h"

#include "yaml_document.h"

#include <sandlot/sdk/base64.h>
#include <sandlot/sdk/json.h>
#include <sandlot/sdk/process.h>
#include <sandlot/sdk/timestamp.h>

#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 256, LIMIT_MS = 60 * 1000, EARLY_MS = 10 * 1000 };

static const char *const versions[] = {"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"};

static enum sandlot_status no_memory(struct sandlot_call *call)
{
    return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory to ask for credentials; free some");
}

void program_answer_clear(struct program_answer *answer)
{
    char *const texts[] = {answer->token, answer->certificate, answer->key};

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        if (texts[i])
            explicit_bzero(texts[i], strlen(texts[i]));
        free(texts[i]);
    }
    *answer = (struct program_answer){0};
}

/* ---- its answer -------------------------------------------------------------------------------------------------- */

static const char *text_at(struct json_object *document, const char *path)
{
    const char *text = NULL;

    json_find_string(document, path, &text, NULL);
    return text && *text ? text : NULL;
}

/* A point of CLOCK_MONOTONIC a little before TEXT, 0 without. */
static int64_t until(const char *text)
{
    int64_t at_ms = timestamp_read(text);

    if (at_ms == 0)
        return 0;
    int64_t left_ms = at_ms - timestamp_now() - EARLY_MS;

    return sandlot_now_ms() + (left_ms > 0 ? left_ms : 1);
}

static bool keep(char **place, const char *text)
{
    *place = text ? strdup(text) : NULL;
    return !text || *place;
}

static enum sandlot_status take(struct sandlot_call *call, const char *name, struct json_object *document,
                                struct program_answer *answer)
{
    const char *token = text_at(document, "status.token");
    const char *certificate = text_at(document, "status.clientCertificateData");
    const char *key = text_at(document, "status.clientKeyData");

    if ((!token && !certificate) || !certificate != !key)
        return sandlot_fail(
            call, SANDLOT_AUTH,
            "%.100s, which the kubeconfig names for credentials, gave neither a token nor a certificate "
            "with its key; run it by hand to see why",
            name);
    if (!keep(&answer->token, token) || !keep(&answer->certificate, certificate) || !keep(&answer->key, key))
        return no_memory(call);
    answer->until_ms = until(text_at(document, "status.expirationTimestamp"));
    return SANDLOT_OK;
}

enum sandlot_status program_read(struct sandlot_call *call, const char *name, const char *version, const char *text,
                                 size_t length, struct program_answer *answer)
{
    struct json_error error;
    AUTO_DOCUMENT struct json_object *document = json_read_document(text, length, &error);
    const char *kind = document ? text_at(document, "kind") : NULL;
    const char *said = document ? text_at(document, "apiVersion") : NULL;

    if (!document)
        return sandlot_fail(
            call, SANDLOT_AUTH,
            "what %.100s, which the kubeconfig names for credentials, printed %.200s; run it by hand to see why", name,
            error.text);
    kind = kind ? kind : "no kind";
    said = said ? said : "";
    if (strcmp(kind, "ExecCredential") != 0 || strcmp(said, version) != 0)
        return sandlot_fail(call, SANDLOT_AUTH,
                            "%.100s, which the kubeconfig names for credentials, answered with %.60s %.60s instead of "
                            "ExecCredential %s; correct apiVersion in the kubeconfig",
                            name, kind, said, version);
    return take(call, name, document, answer);
}

/* ---- running it -------------------------------------------------------------------------------------------------- */

static void set_authorities(struct json_builder *info, const char *authorities)
{
    AUTO_FREE char *text = authorities ? calloc(1, strlen(authorities) * 2 + 8) : NULL;

    if (!text)
        return;
    base64_write(text, authorities, strlen(authorities));
    json_set_string(info, "spec.cluster.certificate-authority-data", text);
}

/* What the program is told of the cluster, to be freed: "KUBERNETES_EXEC_INFO=...". */
static char *make_info(const struct cluster *cluster, const char *version)
{
    struct json_builder info = {0};
    char *made = NULL;

    json_set_string(&info, "apiVersion", version);
    json_set_string(&info, "kind", "ExecCredential");
    json_set_boolean(&info, "spec.interactive", false);
    if (yaml_is_true(json_object_object_get(cluster->program, "provideClusterInfo"))) {
        json_set_string(&info, "spec.cluster.server", cluster->server);
        json_set_string(&info, "spec.cluster.tls-server-name", cluster->server_name);
        json_set_string(&info, "spec.cluster.proxy-url", cluster->proxy);
        set_authorities(&info, cluster->authorities);
        if (cluster->unverified)
            json_set_boolean(&info, "spec.cluster.insecure-skip-tls-verify", true);
    }
    AUTO_FREE char *text = json_finish(&info, NULL);

    return text && asprintf(&made, "KUBERNETES_EXEC_INFO=%s", text) >= 0 ? made : NULL;
}

/* The command: with a slash, but not from the root on, it lies beside the kubeconfig. To be freed. */
static char *find_command(const struct cluster *cluster, const char *command)
{
    char *made = NULL;

    if (*command == '/' || !strchr(command, '/'))
        return strdup(command);
    return asprintf(&made, "%s/%s", cluster->folder, command) < 0 ? NULL : made;
}

/* The variables of `env`, and INFO; ended by NULL. False: out of memory. Those at 0 and on are to be freed. */
static bool make_variables(const struct cluster *cluster, char **variables)
{
    struct json_object *list = NULL;
    size_t used = 0;

    json_find_array(cluster->program, "env", &list, NULL);
    for (size_t i = 0; list && i < json_object_array_length(list) && used < MOST_WORDS - 2; i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        const char *name = json_object_is_type(item, json_type_object) ? text_at(item, "name") : NULL;
        const char *value = name ? text_at(item, "value") : NULL;

        if (name && asprintf(&variables[used++], "%s=%s", name, value ? value : "") < 0)
            return variables[used - 1] = NULL, false;
    }
    return true;
}

static void find_words(const struct cluster *cluster, const char *command, const char **words)
{
    struct json_object *list = NULL;
    size_t used = 0;

    words[used++] = command;
    json_find_array(cluster->program, "args", &list, NULL);
    for (size_t i = 0; list && i < json_object_array_length(list) && used < MOST_WORDS - 1; i++)
        words[used++] = json_object_get_string(json_object_array_get_idx(list, i));
    words[used] = NULL;
}

static enum sandlot_status check(struct sandlot_call *call, const struct cluster *cluster, const char **version)
{
    const char *said = text_at(cluster->program, "apiVersion");
    const char *mode = text_at(cluster->program, "interactiveMode");
    bool known = false;

    for (size_t i = 0; said && i < sizeof(versions) / sizeof(*versions); i++)
        if (strcmp(said, versions[i]) == 0) {
            *version = versions[i];
            known = true;
        }
    if (!known)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "exec in the kubeconfig %.200s has the apiVersion '%.60s'; %s and v1beta1 are understood",
                            cluster->source, said ? said : "", versions[0]);
    if (mode && strcmp(mode, "Always") == 0)
        return sandlot_fail(
            call, SANDLOT_AUTH,
            "exec in the kubeconfig %.200s has interactiveMode Always, and nobody is there to be asked; "
            "log in with kubectl first, or use other credentials",
            cluster->source);
    return SANDLOT_OK;
}

static enum sandlot_status run(struct sandlot_call *call, const struct cluster *cluster, const char *command,
                               char **variables, char **text, size_t *length)
{
    const char *words[MOST_WORDS];
    const char *hint = text_at(cluster->program, "installHint");
    const struct process_options options = {.arguments = words,
                                            .environment = (const char *const *)variables,
                                            .timeout_ms = LIMIT_MS,
                                            .failure = SANDLOT_AUTH};

    find_words(cluster, command, words);
    enum sandlot_status status = process_read(call, &options, text, length);

    if (status == SANDLOT_DEPENDENCY_MISSING && hint)
        call->host->log(call, SANDLOT_LOG_WARNING, hint);
    return status;
}

enum sandlot_status program_run(struct sandlot_call *call, const struct cluster *cluster, struct program_answer *answer)
{
    const char *name = text_at(cluster->program, "command");
    const char *version = versions[0];
    char *variables[MOST_WORDS] = {NULL};
    size_t count = 0;
    AUTO_FREE char *text = NULL;
    size_t length = 0;
    enum sandlot_status status = check(call, cluster, &version);

    if (status != SANDLOT_OK)
        return status;
    if (!name)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "exec in the kubeconfig %.200s has no command; correct it",
                            cluster->source);
    AUTO_FREE char *command = find_command(cluster, name);
    bool made = command && make_variables(cluster, variables);

    while (variables[count])
        count++;
    variables[count] = made ? make_info(cluster, version) : NULL;
    status = variables[count] ? run(call, cluster, command, variables, &text, &length) : no_memory(call);
    for (size_t i = 0; variables[i]; i++)
        free(variables[i]);
    if (status == SANDLOT_OK)
        status = program_read(call, name, version, text, length, answer);
    if (text)
        explicit_bzero(text, strlen(text));
    return status;
}

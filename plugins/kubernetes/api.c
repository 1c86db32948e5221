#include "api.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/pause.h>

#include <ctype.h>
#include <string.h>

enum { SAID = 600, LONGEST_NAME = 253, MOST_CONFLICTS = 5, CONFLICT_MS = 100 };

const char *api_text(struct json_object *object, const char *path)
{
    const char *text = NULL;

    if (object)
        json_find_string(object, path, &text, NULL);
    return text && *text ? text : NULL;
}

bool api_is_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-.";
    size_t length = strlen(name);

    return length > 0 && length <= LONGEST_NAME && strspn(name, letters) == length && name[0] != '-' &&
           name[0] != '.' && name[length - 1] != '-' && name[length - 1] != '.';
}

char *api_path(const struct kubernetes *kubernetes, const char *group, const char *plural, const char *name)
{
    const char *space = access_namespace(&kubernetes->access);
    AUTO_FREE char *root = NULL;
    AUTO_FREE char *pattern = NULL;

    if (asprintf(&root, group ? "/apis/%s" : "/api/v1%s", group ? group : "") < 0)
        return root = NULL;
    if (asprintf(&pattern, "%s/namespaces/{}/%s%s", root, plural, name ? "/{}" : "") < 0)
        return pattern = NULL;
    return http_target(pattern, space, name);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

bool api_reason_is(const struct http_response *response, const char *word)
{
    AUTO_DOCUMENT struct json_object *status = json_read_document(response->body, response->length, NULL);
    const char *reason = json_object_is_type(status, json_type_object) ? api_text(status, "reason") : NULL;

    return reason && strcmp(reason, word) == 0;
}

/* The word behind MARK in TEXT, up to a blank or a quote, without quotes. */
static bool word_behind(const char *text, const char *mark, char *word, size_t capacity)
{
    const char *found = strstr(text, mark);

    if (!found)
        return false;
    found += strlen(mark);
    found += *found == '"';
    size_t length = strcspn(found, " \"");

    snprintf(word, capacity, "%.*s", (int)(length < capacity ? length : capacity - 1), found);
    return length > 0;
}

/* `User "x" cannot create resource "pods" in API group "" in the namespace "y"` */
static enum sandlot_status refuse_right(struct sandlot_call *call, const struct kubernetes *kubernetes,
                                        const char *said)
{
    char verb[32];
    char resource[64];
    char user[128] = "this user";

    if (!word_behind(said, " cannot ", verb, sizeof(verb)) ||
        !word_behind(said, " resource ", resource, sizeof(resource)))
        return SANDLOT_OK;
    word_behind(said, "User ", user, sizeof(user));
    if (strstr(said, " at the cluster scope")) /* to be somebody else, say */
        return sandlot_fail(
            call, SANDLOT_AUTH,
            "Kubernetes does not let %s %s %s: have the verb %s on %s granted by a ClusterRole, or choose "
            "other credentials by KUBECONFIG",
            user, verb, resource, verb, resource);
    return sandlot_fail(
        call, SANDLOT_AUTH,
        "Kubernetes does not let %s %s %s in the namespace %.63s: grant the verb %s on %s, as the Role in "
        "kubernetes-role.yaml does (or choose other credentials by KUBECONFIG)",
        user, verb, resource, access_namespace(&kubernetes->access), verb, resource);
}

static enum sandlot_status refuse_forbidden(struct sandlot_call *call, const struct kubernetes *kubernetes,
                                            const char *said)
{
    enum sandlot_status status = refuse_right(call, kubernetes, said);

    if (status != SANDLOT_OK)
        return status;
    if (strcasestr(said, "exceeded quota"))
        return sandlot_fail(call, SANDLOT_EXHAUSTED,
                            "Kubernetes refuses it: %s; delete sandboxes, or have the quota raised", said);
    if (strstr(said, " is forbidden: ") || strstr(said, " denied the request")) /* by admission: the right is there */
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "Kubernetes refuses such a pod: %s; change the parameters",
                            said);
    return sandlot_fail(call, SANDLOT_AUTH,
                        "Kubernetes refuses it: %s; check the rights of the credentials that KUBECONFIG names",
                        *said ? said : "it is forbidden");
}

static enum sandlot_status refuse_namespace(struct sandlot_call *call, const struct kubernetes *kubernetes)
{
    return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                        "Kubernetes has no namespace %.63s: make it, or set the parameter namespace to another",
                        access_namespace(&kubernetes->access));
}

enum sandlot_status api_refuse(struct sandlot_call *call, const struct kubernetes *kubernetes, const char *method,
                               const char *target, const struct http_response *response)
{
    const char *source = kubernetes->access.cluster.source;
    char said[SAID];
    int path = (int)strcspn(target, "?");

    path = path < 160 ? path : 160;
    http_error_text(response->body, response->length, said, sizeof(said));
    switch (response->status) {
    case 401:
        return sandlot_fail(
            call, SANDLOT_AUTH,
            "Kubernetes does not know these credentials (%.200s): they are wrong or have expired; log in "
            "anew, or set KUBECONFIG to another file",
            source ? source : "none were given");
    case 403:
        return refuse_forbidden(call, kubernetes, said);
    case 404:
    case 410:
        if (strncmp(said, "namespaces ", strlen("namespaces ")) == 0)
            return refuse_namespace(call, kubernetes);
        return sandlot_fail(call, SANDLOT_NOT_FOUND, "%s %.*s: %s; sandlot list shows what is there", method, path,
                            target, *said ? said : "it is not there");
    case 429:
        return sandlot_fail(call, SANDLOT_EXHAUSTED, "Kubernetes has too many requests (%s); try again later", said);
    case 400:
    case 415:
    case 422:
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "Kubernetes refuses %s %.*s: %s; change the parameters",
                            method, path, target, *said ? said : "it does not say why");
    default:
        return sandlot_fail(call,
                            response->status >= 500 || response->status == 409 ? SANDLOT_UNAVAILABLE : SANDLOT_INTERNAL,
                            "Kubernetes answered %s %.*s with status %d: %s; try again", method, path, target,
                            response->status, *said ? said : "it does not say why");
    }
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static bool is_among(int status, const int *accepted)
{
    for (; accepted && *accepted; accepted++)
        if (*accepted == status)
            return true;
    return false;
}

static enum sandlot_status send_once(struct sandlot_call *call, struct kubernetes *kubernetes,
                                     const struct api_request *wanted, const char *body, size_t length, bool fresh,
                                     struct http_response *response)
{
    static const int refusals[] = {400, 401, 403, 404, 405, 409, 410, 415, 422, 0};
    AUTO_WAY struct way way = {0};
    enum sandlot_status status = access_way(call, &kubernetes->access, fresh, &way);
    const char *const headers[] = {"Accept: application/json", way.authorization, NULL};
    const struct http_request request = {.method = wanted->method,
                                         .target = wanted->target,
                                         .headers = headers,
                                         .type = wanted->type,
                                         .body = {.bytes = body, .length = length},
                                         .repeatable = true,
                                         .accepted = wanted->sink ? NULL : refusals, /* they have no place in a sink */
                                         .sink = wanted->sink,
                                         .enough = wanted->enough,
                                         .timeout_ms = wanted->timeout_ms,
                                         .silence_ms = wanted->silence_ms};

    return status == SANDLOT_OK ? http_send(call, way.client, &request, response) : status;
}

static enum sandlot_status take_answer(struct sandlot_call *call, struct kubernetes *kubernetes,
                                       const struct api_request *request, const struct http_response *response,
                                       struct json_object **answer)
{
    struct json_error error;

    if (response->status > 299)
        return is_among(response->status, request->accepted)
                   ? SANDLOT_OK
                   : api_refuse(call, kubernetes, request->method, request->target, response);
    if (!answer || request->sink)
        return SANDLOT_OK;
    *answer = json_read_document(response->body, response->length, &error);
    if (*answer && json_object_is_type(*answer, json_type_object))
        return SANDLOT_OK;
    return *answer ? sandlot_fail(call, SANDLOT_INTERNAL,
                                  "Kubernetes answered %s %.100s with something that is no object; "
                                  "is base_url the address of an API server?",
                                  request->method, request->target)
                   : json_fail(call, "Kubernetes' answer", &error);
}

/* A refusal is an answer here, also where it is none to http_send. */
static enum sandlot_status ask(struct sandlot_call *call, struct kubernetes *kubernetes,
                               const struct api_request *request, const char *body, size_t length, bool fresh,
                               struct http_response *response)
{
    struct attempt attempt;

    attempt_begin(&attempt, call, 0);
    enum sandlot_status status = send_once(&attempt.call, kubernetes, request, body, length, fresh, response);
    bool refused = request->sink && response->status >= 400 && response->status < 500 && response->status != 429;

    return status == SANDLOT_OK || refused ? SANDLOT_OK : attempt_fail(&attempt, status);
}

/* Somebody changed what the request counts on while it was carried out, a quota say: nothing was done. Not so where the
 * name is taken, which is 409 too. */
static bool is_in_conflict(struct sandlot_call *call, const struct http_response *response, int *conflicts)
{
    return response->status == 409 && api_reason_is(response, "Conflict") && ++*conflicts <= MOST_CONFLICTS &&
           pause_for(call, CONFLICT_MS << *conflicts);
}

/* Anew with fresh credentials, if there can be some. */
static bool is_worth_refreshing(const struct kubernetes *kubernetes, const struct http_response *response, bool *fresh)
{
    bool worth = response->status == 401 && !*fresh && access_can_refresh(&kubernetes->access);

    *fresh = *fresh || worth;
    return worth;
}

/* Of what it has accepted: fields that it does not know, what the namespace would rather not have. */
static void log_warning(struct sandlot_call *call, const struct http_response *response)
{
    const char *warning = http_header(response, "Warning");
    char line[400];

    if (!warning)
        return;
    snprintf(line, sizeof(line), "Kubernetes warns: %.300s", warning);
    call->host->log(call, SANDLOT_LOG_WARNING, line);
}

enum sandlot_status api_send(struct sandlot_call *call, struct kubernetes *kubernetes, struct api_request *request,
                             struct http_response *response, struct json_object **answer)
{
    struct http_response own = {0};
    struct http_response *kept = response ? response : &own;
    AUTO_FREE char *target = request->target;
    size_t length = 0;
    AUTO_FREE char *body = request->body ? json_finish(request->body, &length) : NULL;
    enum sandlot_status status = SANDLOT_OK;
    bool fresh = false;
    int conflicts = 0;

    if (answer)
        *answer = NULL;
    if (!target || (request->body && !body))
        return http_no_memory(call);
    do {
        http_response_clear(kept);
        *kept = (struct http_response){0};
        status = ask(call, kubernetes, request, body, length, fresh, kept);
    } while (status == SANDLOT_OK &&
             (is_worth_refreshing(kubernetes, kept, &fresh) || is_in_conflict(call, kept, &conflicts)));
    log_warning(call, kept);
    if (status == SANDLOT_OK)
        status = take_answer(call, kubernetes, request, kept, answer);
    http_response_clear(&own);
    return status;
}

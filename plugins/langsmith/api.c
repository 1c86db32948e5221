#include "api.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/clients.h>
#include <sandlot/sdk/credentials.h>
#include <sandlot/sdk/network.h>
#include <sandlot/sdk/text_format.h>

#include <stdlib.h>
#include <string.h>

#define SERVICE "LangSmith"
#define PUBLIC_ROOT "https://api.smith.langchain.com"
#define CONTROL_PLANE "/v2/sandboxes"

enum { PAGE_SIZE = 100, OLD_PAGE_SIZE = 50, LONGEST_ANSWER = 64 << 20 };

/* Answers that are looked at here before they become failures, so that what the service says of them is told. What is
 * not among them is repeated first. */
static const int judged[] = {400, 401, 403, 404, 405, 408, 409, 413, 416, 422, 423, 500, 501, 0};

const int api_missing[] = {404, 0};

void api_init(struct api *api, const struct parameters *parameters)
{
    *api = (struct api){.parameters = *parameters};
    pthread_mutex_init(&api->lock, NULL);
}

/* What open_client has found. */
static void forget(struct api *api)
{
    free(api->address);
    free(api->key_header);
    free(api->workspace_header);
    api->address = api->key_header = api->workspace_header = NULL;
}

void api_clear(struct api *api)
{
    http_client_close(api->client);
    forget(api);
    pthread_mutex_destroy(&api->lock);
}

/* ---- address and key -------------------------------------------------------------------------------------------- */

static bool is_blank(const char *text)
{
    return !text || text[strspn(text, " \t\r\n")] == '\0';
}

/* The address of the control plane, to be freed. */
static char *control_plane(struct sandlot_call *call, const struct api *api)
{
    const char *const candidates[] = {api->parameters.base_url, call->host->environment(call, "LANGSMITH_ENDPOINT"),
                                      call->host->environment(call, "LANGCHAIN_ENDPOINT"), PUBLIC_ROOT};
    size_t chosen = 0;

    while (is_blank(candidates[chosen]))
        chosen++;
    const char *root = candidates[chosen] + strspn(candidates[chosen], " \t\r\n");
    size_t length = strcspn(root, " \t\r\n");
    size_t tail = strlen(CONTROL_PLANE);

    while (length > 0 && root[length - 1] == '/')
        length--;
    if (length >= tail && strncmp(root + length - tail, CONTROL_PLANE, tail) == 0)
        length -= tail;
    return text_format("%.*s" CONTROL_PLANE, (int)length, root);
}

static enum sandlot_status open_client(struct sandlot_call *call, void *context)
{
    struct api *api = context;
    const char *workspace = api->parameters.workspace_id;
    const char *key;
    enum sandlot_status status = credential_require(call, SERVICE, LANGSMITH_CREDENTIALS, &key);

    if (status != SANDLOT_OK)
        return status;
    AUTO_FREE char *key_from = credential_source(call, LANGSMITH_CREDENTIALS);

    api->address = control_plane(call, api);
    api->key_header = text_format("X-Api-Key: %s", key);
    api->workspace_header = workspace ? text_format("X-Tenant-Id: %s", workspace) : NULL;
    const char *const headers[] = {api->key_header, api->workspace_header, NULL};
    const struct http_options options = {
        .service = SERVICE, .base_url = api->address, .headers = headers, .key_from = key_from};

    if (!api->address || !api->key_header || (workspace && !api->workspace_header))
        status = sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory to reach " SERVICE "; free some");
    else
        status = http_client_open(call, &options, &api->client);
    if (status == SANDLOT_OK)
        http_client_add_secret(api->client, key);
    else
        forget(api);
    return status;
}

/* Finds the key and the address, unless that was done. */
static enum sandlot_status open_once(struct sandlot_call *call, struct api *api)
{
    return clients_open_once(call, &api->lock, &api->client, open_client, api);
}

enum sandlot_status api_hide(struct sandlot_call *call, struct api *api, const struct sandlot_network *network)
{
    enum sandlot_status status = open_once(call, api);

    if (status == SANDLOT_OK)
        network_hide(network, http_client_add_secret, api->client);
    return status;
}

/* ---- requests --------------------------------------------------------------------------------------------------- */

static bool is_in(const int *statuses, int status)
{
    for (; statuses && *statuses; statuses++)
        if (*statuses == status)
            return true;
    return false;
}

/* Reads what the service says of an error: an object in `detail`, a list of findings, a text, or nothing of the kind.
 */
static void read_error(struct api_answer *answer)
{
    const char *word = NULL;

    if (answer->document)
        json_find_string(answer->document, "detail.error", &word, NULL);
    snprintf(answer->error, sizeof(answer->error), "%s", word ? word : "");
    http_error_text(answer->response.body, answer->response.length, answer->message, sizeof(answer->message));
}

/* What to do about an error: the parameter that it names, or the number to quote. To be freed; NULL for nothing. */
static char *hint_for(const struct api_answer *answer)
{
    const char *number = NULL;
    struct json_object *place = NULL;
    char *hint = NULL;

    if (answer->document && json_find_string(answer->document, "detail.error_id", &number, NULL) && number && *number)
        return asprintf(&hint, "LangSmith's support knows it as error_id=%s", number) < 0 ? NULL : hint;
    if (!answer->document || !json_find_array(answer->document, "detail[0].loc", &place, NULL) || !place)
        return NULL;
    size_t length = json_object_array_length(place);
    const char *field = length ? json_object_get_string(json_object_array_get_idx(place, length - 1)) : NULL;

    return field && asprintf(&hint, "it is about `%s`; check the provider's parameters", field) >= 0 ? hint : NULL;
}

static void take_document(struct api_answer *answer)
{
    if (answer->response.length > 0)
        answer->document = json_read_document(answer->response.body, answer->response.length, &answer->garbled);
    else
        snprintf(answer->garbled.text, sizeof(answer->garbled.text), "is empty");
    if (answer->document && !json_object_is_type(answer->document, json_type_object)) {
        json_object_put(answer->document);
        answer->document = NULL;
        snprintf(answer->garbled.text, sizeof(answer->garbled.text), "is no JSON object");
    }
}

/* Fails the call for an answer that nobody expected. */
static enum sandlot_status judge(struct sandlot_call *call, struct api *api, const struct http_request *request,
                                 const struct api_answer *answer)
{
    AUTO_FREE char *hint = hint_for(answer);
    struct http_request shown = *request;

    if (hint)
        shown.error_hint = hint;
    return http_response_fail(call, api->client, &shown, &answer->response);
}

enum sandlot_status api_send(struct sandlot_call *call, struct api *api, const struct api_request *request,
                             struct api_answer *answer)
{
    AUTO_FREE char *target = request->target;
    AUTO_FREE char *body = request->body ? json_finish(request->body, NULL) : NULL;
    enum sandlot_status status = open_once(call, api);

    *answer = (struct api_answer){0};
    if (status != SANDLOT_OK)
        return status;
    if (request->body && !body)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "a request to " SERVICE " cannot be written: a name or parameter is not UTF-8 or no JSON, "
                            "or memory is short; check the parameters");
    /* The data plane is another origin to the client, which does not send its own headers there. */
    const char *headers[5] = {api->key_header};
    size_t count = 1;

    if (api->workspace_header)
        headers[count++] = api->workspace_header;
    if (request->range) {
        headers[count++] = request->range;
        headers[count] = request->if_range;
    }
    const struct http_request sent = {.method = request->method,
                                      .target = target,
                                      .headers = headers,
                                      .body = {.bytes = body, .length = body ? strlen(body) : 0},
                                      .parts = request->parts,
                                      .part_count = request->part_count,
                                      .repeatable = request->repeatable,
                                      .never_repeat = request->never_repeat,
                                      .accepted = request->sink ? NULL : judged,
                                      .limit = LONGEST_ANSWER,
                                      .sink = request->sink,
                                      .silence_ms = request->silence_ms,
                                      .error_hint = request->hint};

    status = http_send(call, api->client, &sent, &answer->response);

    answer->status = answer->response.status;
    bool refused = answer->status >= 300;

    if (status != SANDLOT_OK && !(request->sink && refused))
        return status;
    if (refused || !request->sink)
        take_document(answer);
    if (!refused)
        return SANDLOT_OK;
    read_error(answer);
    if (is_in(request->expected, answer->status))
        return SANDLOT_OK;
    return status != SANDLOT_OK ? status : judge(call, api, &sent, answer);
}

void api_answer_clear(struct api_answer *answer)
{
    json_object_put(answer->document);
    http_response_clear(&answer->response);
    *answer = (struct api_answer){0};
}

enum sandlot_status api_want_document(struct sandlot_call *call, const struct api_answer *answer, const char *what)
{
    return answer->document ? SANDLOT_OK : json_fail(call, what, &answer->garbled);
}

enum sandlot_status api_get(struct sandlot_call *call, struct api *api, char *target, const int *expected,
                            const char *what, struct api_answer *answer)
{
    const struct api_request request = {.method = "GET", .target = target, .expected = expected};
    enum sandlot_status status = api_send(call, api, &request, answer);

    return status == SANDLOT_OK && answer->status < 300 ? api_want_document(call, answer, what) : status;
}

enum sandlot_status api_refuse(struct sandlot_call *call, const struct api_answer *answer, const char *doing)
{
    AUTO_FREE char *hint = hint_for(answer);
    /* 422 is for what the request says, in a list, but also for what went wrong later, with a word of its own. */
    bool later = answer->status == 408 || answer->status == 409 || (answer->status == 422 && answer->error[0]);
    enum sandlot_status status = strcmp(answer->error, "Unschedulable") == 0 ? SANDLOT_EXHAUSTED
                                 : later                                     ? SANDLOT_UNAVAILABLE
                                                                             : SANDLOT_INVALID_ARGUMENT;

    return sandlot_fail(call, status, SERVICE " refuses %s (%d): %s%s%s", doing, answer->status,
                        answer->message[0] ? answer->message : "it does not say why", hint ? "; " : "",
                        hint ? hint : "");
}

/* ---- pages ------------------------------------------------------------------------------------------------------ */

/* The query of a page. What came from a server of today is asked for by its cursor, else by the number of what to skip.
 * False: CURSOR is none of ours. */
static bool add_cursor(char **target, const char *cursor)
{
    char size[16];

    snprintf(size, sizeof(size), "%d", PAGE_SIZE);
    if (!cursor)
        return http_target_add(target, "page_size", size);
    if (strncmp(cursor, "cursor:", 7) == 0)
        return http_target_add(target, "page_size", size) && http_target_add(target, "cursor", cursor + 7);
    if (strncmp(cursor, "offset:", 7) != 0 || cursor[7] == '\0' ||
        strspn(cursor + 7, "0123456789") != strlen(cursor + 7))
        return false;
    return http_target_add(target, "limit", size) && http_target_add(target, "offset", cursor + 7);
}

/* Where PAGE, which was asked for with CURSOR, goes on. False: out of memory. */
static bool find_next(struct api_page *page, const char *cursor)
{
    struct json_object *document = page->answer.document;
    const char *next = NULL;
    int64_t offset = -1;
    size_t length = json_object_array_length(page->items);

    json_find_string(document, "next_cursor", &next, NULL);
    if (next && *next)
        return asprintf(&page->next, "cursor:%s", next) >= 0;
    /* A server that knows cursors says null at the end. An older one gives the next offset, or nothing at all. */
    if (json_object_object_get_ex(document, "next_cursor", NULL) || length == 0)
        return true;
    json_find_integer(document, "offset", &offset, NULL);
    int64_t before = cursor ? strtoll(cursor + 7, NULL, 10) : 0;

    if (offset < 0 && (length == PAGE_SIZE || length == OLD_PAGE_SIZE))
        offset = before + (int64_t)length;
    return offset <= before || asprintf(&page->next, "offset:%lld", (long long)offset) >= 0;
}

enum sandlot_status api_get_page(struct sandlot_call *call, struct api *api, const char *collection, const char *key,
                                 const char *name, const char *cursor, struct api_page *page)
{
    static const char what[] = "the list of " SERVICE;
    struct json_error error;
    char *target = http_target("/{}", collection);

    *page = (struct api_page){0};
    if (target && !add_cursor(&target, cursor) && target) { /* where memory ran out there is no target any more */
        free(target);
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "this is no cursor of a list of " SERVICE "; begin with the first page");
    }
    if (target)
        http_target_add(&target, "name_contains", name);
    enum sandlot_status status = api_get(call, api, target, api_missing, what, &page->answer);

    if (status != SANDLOT_OK)
        return status;
    if (page->answer.status == 404)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            SERVICE " has no list of %s at this address; check LANGSMITH_ENDPOINT and base_url",
                            collection);
    json_find_array(page->answer.document, "items", &page->items, NULL);
    if (!page->items && !json_read_array(page->answer.document, key, &page->items, &error))
        return json_fail(call, what, &error);
    return find_next(page, cursor) ? SANDLOT_OK
                                   : sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for a list");
}

void api_page_clear(struct api_page *page)
{
    api_answer_clear(&page->answer);
    free(page->next);
    *page = (struct api_page){0};
}

enum sandlot_status api_list(struct sandlot_call *call, struct api *api, const char *collection, const char *key,
                             const char *cursor, const struct sandlot_listing *listing, rest_add add)
{
    struct api_page page;
    enum sandlot_status status = api_get_page(call, api, collection, key, NULL, cursor, &page);

    if (status == SANDLOT_OK)
        status = rest_list(call, listing, page.items, page.next, add);
    api_page_clear(&page);
    return status;
}

/* ---- the data plane --------------------------------------------------------------------------------------------- */

char *data_target(const char *url, const char *operation, const char *path)
{
    size_t length = strlen(url);
    char *target;

    while (length > 0 && url[length - 1] == '/')
        length--;
    if (asprintf(&target, "%.*s%s", (int)length, url, operation) < 0)
        return NULL;
    return http_target_add(&target, "path", path) ? target : NULL;
}

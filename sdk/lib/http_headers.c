#include "http_client.h"

#include "cleanup.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool http_is_header(const char *line, const char *name)
{
    size_t length = strlen(name);

    return strncasecmp(line, name, length) == 0 && line[length] == ':';
}

bool http_is_secret_header(const char *line)
{
    static const char *const words[] = {"authorization", "cookie", "key", "token", "secret", "password", "credential"};
    AUTO_FREE char *name = strndup(line, strcspn(line, ":"));

    if (!name)
        return true;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strcasestr(name, words[i]))
            return true;
    return false;
}

/* A name of visible characters, a colon, and a value without anything that could begin another header. */
static bool is_fit(const char *line)
{
    const char *at = line;

    while (isgraph((unsigned char)*at) && *at != ':')
        at++;
    if (at == line || *at != ':')
        return false;
    for (; *at; at++)
        if (iscntrl((unsigned char)*at) && *at != '\t')
            return false;
    return true;
}

/* libcurl takes "Name:" as the wish to leave a header out, and "Name;" for one without value. */
static bool append(struct curl_slist **list, const char *line)
{
    const char *colon = strchr(line, ':');
    bool empty = colon && colon[1 + strspn(colon + 1, " \t")] == '\0';
    AUTO_FREE char *bare = empty ? sdk_format("%.*s;", (int)(colon - line), line) : NULL;
    struct curl_slist *longer = empty && !bare ? NULL : curl_slist_append(*list, empty ? bare : line);

    *list = longer ? longer : *list;
    return longer;
}

static bool is_replaced(const char *line, const char *const *by)
{
    size_t length = strcspn(line, ":");

    for (; by && *by; by++)
        if (strncasecmp(line, *by, length + 1) == 0)
            return true;
    return false;
}

/* Adds the lines of HEADERS. Those that may not leave the client's origin only go there. */
static const char *add_lines(struct curl_slist **list, const char *const *headers, const char *const *replaced_by,
                             bool foreign)
{
    for (; headers && *headers; headers++) {
        if (!is_fit(*headers))
            return "a header of the request has a newline or another character that cannot be sent; "
                   "check keys and parameters";
        if (foreign && !http_is_header(*headers, "Accept") && !http_is_header(*headers, "Range"))
            continue;
        if (!is_replaced(*headers, replaced_by) && !append(list, *headers))
            return "there is not enough memory for a request; free some";
    }
    return NULL;
}

static bool has_body(const struct http_request *request)
{
    return request->body.bytes || request->body.source;
}

static const char *add_own(struct curl_slist **list, const struct http_request *request)
{
    const char *type = request->type          ? request->type
                       : request->body.source ? "application/octet-stream"
                                              : "application/json";
    AUTO_FREE char *type_line = sdk_format("Content-Type: %s", type);
    AUTO_FREE char *key_line =
        sdk_format("Idempotency-Key: %s", request->idempotency_key ? request->idempotency_key : "");
    const char *lines[] = {"Expect:", NULL, NULL,
                           NULL}; /* waiting for 100 Continue costs a round trip and up to a second */
    size_t count = 1;

    if (!type_line || !key_line)
        return "there is not enough memory for a request; free some";
    if (has_body(request) && !request->parts)
        lines[count++] = type_line;
    if (request->idempotency_key)
        lines[count++] = key_line;
    const char *fault = add_lines(list, lines + 1, request->headers, false);
    struct curl_slist *longer = fault ? NULL : curl_slist_append(*list, lines[0]);

    if (!fault && !longer)
        return "there is not enough memory for a request; free some";
    *list = longer ? longer : *list;
    return fault;
}

struct curl_slist *http_headers(struct sandlot_call *call, const struct http_client *client,
                                const struct http_request *request, const char *url, enum sandlot_status *status)
{
    struct curl_slist *list = NULL;
    bool foreign = !http_same_origin(url, client->base_url);
    const char *fault = add_lines(&list, (const char *const *)client->headers, request->headers, foreign);

    /* A request that was made for another origin from the beginning has its own headers, but never the client's. */
    if (!fault)
        fault = add_lines(&list, request->headers, NULL,
                          foreign && (*request->target == '/' || !http_same_origin(url, request->target)));
    if (!fault && (!foreign || *request->target != '/'))
        fault = add_own(&list, request);
    if (!fault)
        return list;
    curl_slist_free_all(list);
    *status = sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "%s", fault);
    return NULL;
}

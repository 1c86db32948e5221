#include "http_client.h"

#include <sandlot/sdk/cleanup.h>

#include <ctype.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool http_is_header(const char *line, const char *name)
{
    size_t length = strlen(name);

    return strncasecmp(line, name, length) == 0 && line[length] == ':';
}

const char *http_header(const struct http_response *response, const char *name)
{
    const char *found = NULL;
    char *line = response->headers;

    /* Lines are ended in place, so that a value is a string: a line break is never looked at a second time. */
    for (char *end = line ? line + response->headers_length : NULL; line < end;) {
        size_t length = strcspn(line, "\r\n");
        char *next = line + length;

        while (next < end && (*next == '\r' || *next == '\n' || *next == '\0'))
            *next++ = '\0';
        if (http_is_header(line, name)) {
            found = line + strlen(name) + 1;
            found += strspn(found, " \t");
        }
        line = next;
    }
    return found;
}

enum sandlot_status http_want_file(struct sandlot_call *call, const struct http_response *response, const char *service)
{
    static const char wanted[] = "application/octet-stream";
    const char *type = http_header(response, "Content-Type");

    if (type && strncasecmp(type, wanted, sizeof(wanted) - 1) == 0)
        return SANDLOT_OK;
    return sandlot_fail(call, SANDLOT_INTERNAL,
                        "%s's answer to a download is no file (%.100s); try again, or report it to %s", service,
                        type ? type : "no type", service);
}

static bool is_secret_header(const char *line)
{
    static const char *const words[] = {"authorization", "cookie", "key", "token", "secret", "password", "credential"};
    AUTO_FREE char *name = strndup(line, strcspn(line, ":"));

    if (!name)
        return true;
    if (strcasestr(name, "idempotency")) /* names one request and opens nothing; each has another one */
        return false;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strcasestr(name, words[i]))
            return true;
    return false;
}

/* "Basic" credentials are a name and a password in base64. */
static void learn_basic(struct http_client *client, const char *encoded)
{
    size_t length = strlen(encoded);
    AUTO_FREE char *decoded = length <= HTTP_LONGEST_HEADERS ? calloc(1, length + 4) : NULL;

    if (!decoded || EVP_DecodeBlock((unsigned char *)decoded, (const unsigned char *)encoded, (int)length) < 0)
        return;
    const char *colon = strchr(decoded, ':');

    if (colon)
        sdk_secrets_add(&client->secrets, colon + 1);
    explicit_bzero(decoded, length);
}

void http_learn_header(struct http_client *client, const char *line)
{
    const char *value = strchr(line, ':');

    if (!value || !is_secret_header(line))
        return;
    value += 1 + strspn(value + 1, " \t");
    if (strncmp(value, "AWS4-", 5) == 0)
        return; /* a signature, which tells nothing of the key: every request has another one, and none is forgotten */
    sdk_secrets_add(&client->secrets, value);
    const char *blank = strrchr(value, ' ');

    if (blank)
        sdk_secrets_add(&client->secrets, blank + 1);
    if (blank && strncasecmp(value, "Basic ", 6) == 0)
        learn_basic(client, blank + 1);
}

bool http_is_value(const char *text)
{
    for (; *text; text++)
        if (iscntrl((unsigned char)*text) && *text != '\t')
            return false;
    return true;
}

/* A name of visible characters, a colon, and a value without anything that could begin another header. */
static bool is_fit(const char *line)
{
    const char *at = line;

    while (isgraph((unsigned char)*at) && *at != ':')
        at++;
    return at != line && *at == ':' && http_is_value(at);
}

static bool parts_are_fit(const struct http_request *request)
{
    for (size_t i = 0; i < request->part_count; i++)
        if (request->parts[i].type && !http_is_value(request->parts[i].type))
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

static const char unfit[] = "a header of the request has a newline or another character that cannot be sent; "
                            "check keys and parameters";
static const char no_memory[] = "there is not enough memory for a request; free some";

/* Adds the lines of HEADERS. Those that may not leave the client's origin only go there. */
static const char *add_lines(struct curl_slist **list, const char *const *headers, const char *const *replaced_by,
                             bool foreign)
{
    for (; headers && *headers; headers++) {
        if (!is_fit(*headers))
            return unfit;
        if (foreign && !http_is_header(*headers, "Accept") && !http_is_header(*headers, "Range"))
            continue;
        if (!is_replaced(*headers, replaced_by) && !append(list, *headers))
            return no_memory;
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
        return no_memory;
    if (has_body(request) && !request->parts)
        lines[count++] = type_line;
    if (request->idempotency_key)
        lines[count++] = key_line;
    const char *fault = add_lines(list, lines + 1, request->headers, false);
    struct curl_slist *longer = fault ? NULL : curl_slist_append(*list, lines[0]);

    if (!fault && !longer)
        return no_memory;
    *list = longer ? longer : *list;
    return fault;
}

struct curl_slist *http_headers(struct sandlot_call *call, const struct http_client *client,
                                const struct http_request *request, const char *url, enum sandlot_status *status)
{
    struct curl_slist *list = NULL;
    const bool relative = *request->target == '/';
    const int home = http_same_origin(url, client->base_url);
    /* A request that was made for another origin from the beginning has its own headers, but never the client's. */
    const int own = home || relative ? home : http_same_origin(url, request->target);
    const char *fault = home < 0 || own < 0 ? no_memory : parts_are_fit(request) ? NULL : unfit;

    if (!fault)
        fault = add_lines(&list, (const char *const *)client->headers, request->headers, !home);
    if (!fault)
        fault = add_lines(&list, request->headers, NULL, !own);
    if (!fault && (home || !relative))
        fault = add_own(&list, request);
    if (!fault)
        return list;
    curl_slist_free_all(list);
    *status = sandlot_fail(call, fault == unfit ? SANDLOT_INVALID_ARGUMENT : SANDLOT_INTERNAL, "%s", fault);
    return NULL;
}

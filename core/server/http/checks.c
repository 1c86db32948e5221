#include "server/http/checks.h"

#include "base/base64.h"
#include "base/cleanup.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const own_names[] = {"localhost", "127.0.0.1", "[::1]"};

enum { OWN_NAME_COUNT = sizeof(own_names) / sizeof(own_names[0]) };

void http_fields_clear(struct http_fields *fields)
{
    free(fields->host);
    free(fields->origin);
    free(fields->authorization);
    free(fields->content_type);
    free(fields->length);
    free(fields->accept);
    free(fields->version);
    free(fields->method);
    free(fields->name);
    *fields = (struct http_fields){0};
}

/* ---- who asks ---------------------------------------------------------------------------------------------------- */

/* The length of the name in "NAME", "NAME:PORT" or "[ADDRESS]:PORT"; 0 if it is none of these. */
static size_t name_length(const char *host)
{
    const char *bracket = *host == '[' ? strchr(host, ']') : NULL;
    size_t length = *host == '[' ? (bracket ? (size_t)(bracket - host) + 1 : 0) : strcspn(host, ":");
    const char *port = host + length;

    if (!*port)
        return length;
    if (*port != ':' || strspn(port + 1, "0123456789") != strlen(port + 1))
        return 0;
    return length;
}

static bool same_name(const char *host, size_t length, const char *name)
{
    return strlen(name) == length && strncasecmp(host, name, length) == 0;
}

static bool is_own_name(const char *host)
{
    size_t length = name_length(host);

    for (size_t i = 0; i < OWN_NAME_COUNT; i++)
        if (same_name(host, length, own_names[i]))
            return true;
    return false;
}

/* What stands behind "http://" or "https://"; NULL if ORIGIN is something else. */
static const char *origin_host(const char *origin)
{
    if (strncasecmp(origin, "http://", 7) == 0)
        return origin + 7;
    return strncasecmp(origin, "https://", 8) == 0 ? origin + 8 : NULL;
}

bool http_origin_allowed(const struct http_access *access, const char *asked_host, const char *origin)
{
    const char *host = origin_host(origin);

    if (host && is_own_name(host) && (access->token || strcasecmp(host, asked_host) == 0))
        return true;
    for (const char *const *allowed = access->origins; allowed && *allowed; allowed++)
        if (strcasecmp(*allowed, origin) == 0)
            return true;
    return false;
}

/* An address in numbers cannot be somebody else's name for this machine. */
static bool is_numeric(const char *host, size_t length)
{
    bool brackets = *host == '[';
    AUTO_FREE char *text = brackets ? strndup(host + 1, length - 2) : strndup(host, length);
    struct in6_addr address;

    return text && inet_pton(brackets ? AF_INET6 : AF_INET, text, &address) == 1;
}

bool http_host_allowed(const struct http_access *access, const char *host)
{
    size_t length = name_length(host);

    if (length == 0)
        return false;
    if (is_own_name(host) || (access->address ? same_name(host, length, access->address) : is_numeric(host, length)))
        return true;
    for (const char *const *allowed = access->origins; allowed && *allowed; allowed++) {
        const char *name = origin_host(*allowed);

        if (name && name_length(name) == length && strncasecmp(name, host, length) == 0)
            return true;
    }
    return false;
}

bool http_token_matches(const char *token, const char *authorization)
{
    static const char scheme[] = "bearer ";

    if (!authorization || strncasecmp(authorization, scheme, sizeof(scheme) - 1) != 0)
        return false;
    const char *given = authorization + sizeof(scheme) - 1;

    given += strspn(given, " ");
    size_t given_length = strlen(given);
    size_t length = strlen(token);
    volatile unsigned char difference = given_length != length;

    /* Every byte that was given is compared with some byte of the token. */
    for (size_t i = 0; i < given_length; i++)
        difference = (unsigned char)(difference | (given[i] ^ token[length ? i % length : 0]));
    return difference == 0 && length > 0;
}

/* ---- what is sent and wanted ------------------------------------------------------------------------------------- */

/* The media type at the beginning of TEXT, which ends at a parameter, a comma or a blank. */
static size_t type_length(const char *text)
{
    return strcspn(text, ";, \t");
}

bool http_is_json(const char *content_type)
{
    if (!content_type)
        return false;
    content_type += strspn(content_type, " \t");
    return same_name(content_type, type_length(content_type), "application/json");
}

bool http_accepts_both(const char *accept)
{
    bool json = false;
    bool stream = false;

    while (accept && *accept) {
        accept += strspn(accept, ", \t");
        size_t length = type_length(accept);
        bool all = same_name(accept, length, "*/*");

        json =
            json || all || same_name(accept, length, "application/json") || same_name(accept, length, "application/*");
        stream = stream || all || same_name(accept, length, "text/event-stream") || same_name(accept, length, "text/*");
        accept += strcspn(accept, ",");
    }
    return json && stream;
}

/* LENGTH characters of base64 as text; NULL if they are not that. */
static char *decode_base64(const char *text, size_t length)
{
    struct base64_decoder decoder = {0};
    AUTO_FREE char *bytes = malloc(length / 4 * 3 + 4);
    size_t written = 0;

    if (!bytes || !base64_decode(&decoder, text, length, bytes, &written) || !base64_decoder_done(&decoder) ||
        memchr(bytes, '\0', written))
        return NULL;
    bytes[written] = '\0';
    return TAKE(bytes);
}

char *http_decode(const char *value)
{
    static const char opening[] = "=?base64?";
    static const char closing[] = "?=";

    value += strspn(value, " \t");
    size_t length = strlen(value);

    while (length > 0 && (value[length - 1] == ' ' || value[length - 1] == '\t'))
        length--;
    if (length < sizeof(opening) + sizeof(closing) - 2 || strncasecmp(value, opening, sizeof(opening) - 1) != 0 ||
        memcmp(value + length - 2, closing, 2) != 0)
        return strndup(value, length);
    return decode_base64(value + sizeof(opening) - 1, length - (sizeof(opening) + sizeof(closing) - 2));
}

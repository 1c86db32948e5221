/* What the header fields of a request must say. Nothing here knows how they were received. */
#ifndef SANDLOT_SERVER_HTTP_CHECKS_H
#define SANDLOT_SERVER_HTTP_CHECKS_H

#include "server/http/module.h"

#include <stdbool.h>

/* All may be NULL: the field is absent. */
struct http_fields {
    char *host;
    char *origin;
    char *authorization;
    char *content_type;
    char *length; /* by either field that tells it */
    char *accept; /* several of them joined by commas */
    char *version;
    char *method;
    char *name;
    bool repeated; /* one that must be single came twice */
};

void http_fields_clear(struct http_fields *fields);

/* May a page of ORIGIN, which asks ASKED_HOST, use the server? Those that were named may, and those of this machine,
 * which a server without a token must not take from another port than its own: there is anybody's page, and the browser
 * its hand. */
bool http_origin_allowed(const struct http_access *access, const char *asked_host, const char *origin);

/* Is HOST a name that the server knows itself by, or where it listens everywhere, any address in numbers? A page of
 * some other name that was made to point at this machine sends that name. */
bool http_host_allowed(const struct http_access *access, const char *host);

/* Does AUTHORIZATION carry TOKEN? How long that takes tells nothing about TOKEN. */
bool http_token_matches(const char *token, const char *authorization);

/* Is the type application/json, with or without parameters? */
bool http_is_json(const char *content_type);

/* Does ACCEPT list both JSON and event streams, by name or by wildcard? */
bool http_accepts_both(const char *accept);

/* VALUE without blanks around it, "=?base64?...?=" decoded; to be freed. NULL: not properly encoded, or no memory. */
char *http_decode(const char *value);

#endif

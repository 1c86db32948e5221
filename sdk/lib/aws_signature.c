#include <sandlot/sdk/aws_signature.h>

#include "text.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/digest.h>

#include <ctype.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { MOST_HEADERS = 32, MOST_PAIRS = 32 };

static const char algorithm[] = "AWS4-HMAC-SHA256";

/* The parts of a request in the form that is signed. */
struct canonical {
    struct sdk_buffer text;
    char *signed_names; /* "host;x-amz-date" */
};

static bool add(struct sdk_buffer *buffer, const char *text)
{
    return sdk_buffer_add(buffer, text, strlen(text)) == SDK_GROWN;
}

/* ---- digests ---------------------------------------------------------------------------------------------------- */

static bool seal(const void *key, size_t key_length, const char *text, unsigned char digest[DIGEST_BYTES])
{
    return HMAC(EVP_sha256(), key, (int)key_length, (const unsigned char *)text, strlen(text), digest, NULL) != NULL;
}

/* ---- the address ------------------------------------------------------------------------------------------------ */

static const char *host_of(const char *url)
{
    const char *scheme = strstr(url, "://");

    return scheme ? scheme + 3 : NULL;
}

/* What the header Host will say: libcurl leaves out a port that goes without saying. */
static char *host_value(const char *url)
{
    const char *host = host_of(url);
    size_t length = strcspn(host, "/?#");
    const char *port = strncasecmp(url, "https:", 6) == 0 ? ":443" : ":80";
    size_t port_length = strlen(port);

    if (length > port_length && memcmp(host + length - port_length, port, port_length) == 0)
        length -= port_length;
    char *value = strndup(host, length);

    for (char *at = value; at && *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return value;
}

/* Each segment of the path, escaped as it is, is escaped once more. */
static bool add_path(struct sdk_buffer *text, const char *path, size_t length)
{
    const char *end = path + length;

    if (length == 0)
        return add(text, "/");
    while (path < end) {
        size_t plain = strcspn(path, "/?");
        AUTO_FREE char *segment = strndup(path, plain);
        AUTO_FREE char *escaped = segment ? sdk_percent_encode(segment) : NULL;

        if (!escaped || !add(text, escaped))
            return false;
        path += plain;
        if (path < end && (!add(text, "/")))
            return false;
        path += path < end;
    }
    return true;
}

static int compare_texts(const void *one, const void *other)
{
    return strcmp(*(char *const *)one, *(char *const *)other);
}

/* "a=1&b=", sorted. A name that ends where another goes on comes first, for "=" would come after "-" and digits. */
static bool add_query(struct sdk_buffer *text, const char *query)
{
    AUTO_FREE char *copy = strdup(query);
    char *pairs[MOST_PAIRS] = {NULL};
    char *rest = NULL;
    size_t count = 0;
    bool added = copy != NULL;

    for (char *pair = copy ? strtok_r(copy, "&", &rest) : NULL; pair; pair = strtok_r(NULL, "&", &rest)) {
        char *equals = strchr(pair, '=');

        if (count == MOST_PAIRS)
            return false;
        if (equals)
            *equals = '\1';
        pairs[count++] = pair;
    }
    qsort(pairs, count, sizeof(*pairs), compare_texts);
    for (size_t i = 0; i < count && added; i++) {
        char *equals = strchr(pairs[i], '\1');

        if (equals)
            *equals = '=';
        added = add(text, i == 0 ? "" : "&") && add(text, pairs[i]) && (equals || add(text, "="));
    }
    return added;
}

/* ---- headers ---------------------------------------------------------------------------------------------------- */

/* "Name:  a   b " as "name:a b"; to be freed. */
static char *normal_header(const char *line)
{
    char *normal = malloc(strlen(line) + 2);
    const char *at = line;
    size_t used = 0;

    if (!normal)
        return NULL;
    for (; *at && *at != ':'; at++)
        normal[used++] = (char)tolower((unsigned char)*at);
    normal[used++] = ':';
    at += *at == ':';
    for (at += strspn(at, " \t"); *at; at++) {
        bool blank = *at == ' ' || *at == '\t';

        if (!blank)
            normal[used++] = *at;
        else if (at[1] && at[1] != ' ' && at[1] != '\t')
            normal[used++] = ' ';
    }
    normal[used] = '\0';
    return normal;
}

/* By the names alone: ":" would come after "-". */
static int compare_headers(const void *one, const void *other)
{
    const char *left = *(char *const *)one;
    const char *right = *(char *const *)other;

    while (*left == *right && *left != ':') {
        left++;
        right++;
    }
    if (*left == ':' || *right == ':')
        return (*right == ':') - (*left == ':');
    return (unsigned char)*left - (unsigned char)*right;
}

static bool add_headers(struct canonical *canonical, char **headers, size_t count)
{
    struct sdk_buffer names = {.limit = SIZE_MAX / 4};
    bool added = true;

    qsort(headers, count, sizeof(*headers), compare_headers);
    for (size_t i = 0; i < count && added; i++)
        added = add(&canonical->text, headers[i]) && add(&canonical->text, "\n") && add(&names, i == 0 ? "" : ";") &&
                sdk_buffer_add(&names, headers[i], strcspn(headers[i], ":")) == SDK_GROWN;
    canonical->signed_names = sdk_buffer_take(&names);
    return added && canonical->signed_names && add(&canonical->text, "\n") &&
           add(&canonical->text, canonical->signed_names);
}

/* Those of the request, those of the signature, and Host. */
static bool add_all_headers(struct canonical *canonical, const struct aws_request *request, char *const *own)
{
    AUTO_FREE char *host = host_value(request->url);
    AUTO_FREE char *host_line = host ? sdk_format("host:%s", host) : NULL;
    char *headers[MOST_HEADERS] = {0};
    size_t count = 0;
    bool fine = host_line != NULL;

    if (fine)
        fine = (headers[count++] = strdup(host_line)) != NULL;
    for (; fine && *own; own++)
        fine = (headers[count++] = normal_header(*own)) != NULL;
    for (const char *const *line = request->headers; fine && line && *line; line++)
        fine = count < MOST_HEADERS && (headers[count++] = normal_header(*line)) != NULL;
    fine = fine && add_headers(canonical, headers, count);
    for (size_t i = 0; i < count; i++)
        free(headers[i]);
    return fine;
}

/* ---- the signature ---------------------------------------------------------------------------------------------- */

static bool make_canonical(const struct aws_request *request, char *const *own, struct canonical *canonical)
{
    const char *host = host_of(request->url);
    const char *path = host + strcspn(host, "/?#");
    size_t path_length = strcspn(path, "?#");
    const char *query = path[path_length] == '?' ? path + path_length + 1 : "";
    char payload[DIGEST_SIZE];

    canonical->text = (struct sdk_buffer){.limit = SIZE_MAX / 4};
    return digest_of(request->body ? request->body : "", request->body ? request->length : 0, payload) &&
           add(&canonical->text, request->method) && add(&canonical->text, "\n") &&
           add_path(&canonical->text, path, path_length) && add(&canonical->text, "\n") &&
           add_query(&canonical->text, query) && add(&canonical->text, "\n") &&
           add_all_headers(canonical, request, own) && add(&canonical->text, "\n") && add(&canonical->text, payload);
}

/* The key is good for a day, a region and a service. */
static bool make_key(const struct aws_request *request, const char *secret, const char *day,
                     unsigned char key[DIGEST_BYTES])
{
    AUTO_FREE char *begin = sdk_format("AWS4%s", secret);

    return begin && seal(begin, strlen(begin), day, key) && seal(key, DIGEST_BYTES, request->region, key) &&
           seal(key, DIGEST_BYTES, request->service, key) && seal(key, DIGEST_BYTES, "aws4_request", key);
}

static char *make_authorization(const struct aws_request *request, const struct aws_credentials *credentials,
                                const char *stamp, const struct canonical *canonical)
{
    unsigned char key[DIGEST_BYTES];
    char digest[DIGEST_SIZE];
    char signature[DIGEST_SIZE];
    char day[9];

    snprintf(day, sizeof(day), "%.8s", stamp);
    AUTO_FREE char *scope = sdk_format("%s/%s/%s/aws4_request", day, request->region, request->service);

    if (!scope || !digest_of(canonical->text.bytes, canonical->text.length, digest))
        return NULL;
    AUTO_FREE char *text = sdk_format("%s\n%s\n%s\n%s", algorithm, stamp, scope, digest);

    if (!text || !make_key(request, credentials->secret, day, key) || !seal(key, DIGEST_BYTES, text, key))
        return NULL;
    digest_digits(key, DIGEST_BYTES, signature);
    return sdk_format("Authorization: %s Credential=%s/%s, SignedHeaders=%s, Signature=%s", algorithm,
                      credentials->key_id, scope, canonical->signed_names, signature);
}

bool aws_sign(const struct aws_request *request, const struct aws_credentials *credentials,
              char *lines[AWS_SIGNATURE_LINES])
{
    struct canonical canonical = {0};
    time_t now = (time_t)request->time_s;
    struct tm utc;
    char stamp[32];
    char *own[3] = {NULL, NULL, NULL};
    char *authorization = NULL;

    memset(lines, 0, AWS_SIGNATURE_LINES * sizeof(*lines));
    if (!host_of(request->url) || !gmtime_r(&now, &utc))
        return false;
    strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &utc);
    own[0] = sdk_format("X-Amz-Date: %s", stamp);
    if (credentials->token)
        own[1] = sdk_format("X-Amz-Security-Token: %s", credentials->token);
    if (own[0] && (own[1] || !credentials->token) && make_canonical(request, own, &canonical))
        authorization = make_authorization(request, credentials, stamp, &canonical);
    sdk_buffer_clear(&canonical.text);
    free(canonical.signed_names);
    lines[0] = authorization;
    lines[1] = own[0];
    lines[2] = own[1];
    if (!authorization) {
        aws_signature_free(lines);
        ERR_clear_error(); /* who uses OpenSSL next on this thread must not take its complaints for his own */
    }
    return authorization;
}

void aws_signature_free(char *lines[AWS_SIGNATURE_LINES])
{
    for (size_t i = 0; i < AWS_SIGNATURE_LINES; i++) {
        free(lines[i]);
        lines[i] = NULL;
    }
}

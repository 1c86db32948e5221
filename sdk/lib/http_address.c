#include "http_client.h"

#include <sandlot/sdk/cleanup.h>

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- targets ---------------------------------------------------------------------------------------------------- */

/* A segment that is not a name: "/x/{}" would become "/x/", "/x/." or "/x/..", another thing than was meant. */
static bool is_no_segment(const char *segment, size_t length)
{
    return length == 0 || (length == 1 && *segment == '.') || (length == 2 && memcmp(segment, "..", 2) == 0);
}

/* Are all segments of the path in TARGET that begin behind AT names? Only those that hold an argument are looked at. */
static bool segment_is_name(const char *target, const char *at)
{
    const char *begin = at;

    while (begin > target && begin[-1] != '/')
        begin--;
    return !is_no_segment(begin, strcspn(begin, "/?"));
}

static bool add(struct sdk_buffer *buffer, const char *text, size_t length)
{
    return sdk_buffer_add(buffer, text, length) == SDK_GROWN;
}

char *http_target(const char *pattern, ...)
{
    enum { MOST_ARGUMENTS = 32 };
    struct sdk_buffer target = {.limit = SIZE_MAX / 4};
    size_t places[MOST_ARGUMENTS];
    size_t count = 0;
    bool fine = true;
    bool query = false;
    va_list arguments;

    va_start(arguments, pattern);
    for (const char *at = pattern; fine && *at;) {
        size_t plain = strcspn(at, "{");

        query = query || memchr(at, '?', plain);
        fine = add(&target, at, plain);
        at += plain;
        if (*at == '\0')
            break;
        const char *argument = strncmp(at, "{}", 2) == 0 ? va_arg(arguments, const char *) : NULL;
        AUTO_FREE char *encoded = argument ? sdk_percent_encode(argument) : NULL;

        fine = fine && encoded && count < MOST_ARGUMENTS;
        if (fine && !query)
            places[count++] = target.length;
        fine = fine && add(&target, encoded, strlen(encoded));
        at += fine ? 2 : 0;
    }
    va_end(arguments);
    for (size_t i = 0; fine && i < count; i++)
        fine = segment_is_name(target.bytes, target.bytes + places[i]);
    if (fine)
        return sdk_buffer_take(&target);
    sdk_buffer_clear(&target);
    return NULL;
}

bool http_target_add(char **target, const char *name, const char *value)
{
    if (!*target || !value)
        return *target;
    AUTO_FREE char *encoded_name = sdk_percent_encode(name);
    AUTO_FREE char *encoded_value = sdk_percent_encode(value);
    char *longer = encoded_name && encoded_value
                       ? sdk_format("%s%c%s=%s", *target, strchr(*target, '?') ? '&' : '?', encoded_name, encoded_value)
                       : NULL;

    free(*target);
    *target = longer;
    return longer;
}

/* ---- URLs ------------------------------------------------------------------------------------------------------- */

char *http_absolute(const struct http_client *client, const char *target)
{
    return *target == '/' ? sdk_format("%s%s", client->base_url, target) : strdup(target);
}

bool http_is_secure(const char *url)
{
    return strncasecmp(url, "https:", 6) == 0;
}

static void free_part(char **part)
{
    curl_free(*part);
}

static void free_url(CURLU **url)
{
    curl_url_cleanup(*url);
}

void http_learn_password(struct http_client *client, const char *url)
{
    CLEANUP(free_url) CURLU *parsed = curl_url();
    CLEANUP(free_part) char *written = NULL;
    CLEANUP(free_part) char *meant = NULL;

    if (!parsed || curl_url_set(parsed, CURLUPART_URL, url, CURLU_GUESS_SCHEME | CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
        return;
    if (curl_url_get(parsed, CURLUPART_PASSWORD, &written, 0) == CURLUE_OK)
        sdk_secrets_add(&client->secrets, written);
    if (curl_url_get(parsed, CURLUPART_PASSWORD, &meant, CURLU_URLDECODE) == CURLUE_OK)
        sdk_secrets_add(&client->secrets, meant);
}

static CURLUcode compare(CURLU *one, CURLU *other, CURLUPart part, bool *same)
{
    CLEANUP(free_part) char *a = NULL;
    CLEANUP(free_part) char *b = NULL;
    CURLUcode code = curl_url_get(one, part, &a, CURLU_DEFAULT_PORT);

    if (code == CURLUE_OK)
        code = curl_url_get(other, part, &b, CURLU_DEFAULT_PORT);
    *same = *same && code == CURLUE_OK && strcasecmp(a, b) == 0;
    return code;
}

int http_same_origin(const char *one, const char *other)
{
    static const CURLUPart parts[] = {CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT};
    CLEANUP(free_url) CURLU *a = curl_url();
    CLEANUP(free_url) CURLU *b = curl_url();
    CURLUcode code = a && b ? curl_url_set(a, CURLUPART_URL, one, 0) : CURLUE_OUT_OF_MEMORY;
    bool same = true;

    if (code == CURLUE_OK)
        code = curl_url_set(b, CURLUPART_URL, other, 0);
    for (size_t i = 0; code == CURLUE_OK && i < sizeof(parts) / sizeof(parts[0]); i++)
        code = compare(a, b, parts[i], &same);
    return code == CURLUE_OUT_OF_MEMORY ? -1 : code == CURLUE_OK && same;
}

char *http_shown_url(const char *url, bool with_scheme)
{
    CLEANUP(free_url) CURLU *parsed = curl_url();
    CLEANUP(free_part) char *shown = NULL;

    if (!parsed || curl_url_set(parsed, CURLUPART_URL, url, 0) != CURLUE_OK)
        return strdup("?");
    curl_url_set(parsed, CURLUPART_USER, NULL, 0);
    curl_url_set(parsed, CURLUPART_PASSWORD, NULL, 0);
    curl_url_set(parsed, CURLUPART_QUERY, NULL, 0);
    curl_url_set(parsed, CURLUPART_FRAGMENT, NULL, 0);
    if (curl_url_get(parsed, CURLUPART_URL, &shown, CURLU_NO_DEFAULT_PORT) != CURLUE_OK)
        return strdup("?");
    const char *host = strstr(shown, "://");

    return strdup(with_scheme || !host ? shown : host + 3);
}

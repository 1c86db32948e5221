#include <sandlot/sdk/base64.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/json.h>
#include <sandlot/sdk/jwt.h>

#include <string.h>
#include <time.h>

/* Of three parts the middle one. */
struct json_object *jwt_claims(const char *token)
{
    const char *first = strchr(token, '.');
    const char *second = first ? strchr(first + 1, '.') : NULL;

    if (!second || strchr(second + 1, '.'))
        return NULL;
    size_t length = (size_t)(second - first - 1);
    AUTO_FREE char *text = malloc(length + 1);
    size_t read = text ? base64_read(text, first + 1, length) : SIZE_MAX;
    struct json_object *claims = read != SIZE_MAX ? json_read_document(text, read, NULL) : NULL;

    if (json_object_is_type(claims, json_type_object))
        return claims;
    json_object_put(claims);
    return NULL;
}

int64_t jwt_lifetime_ms(const char *token, int64_t otherwise_ms)
{
    AUTO_DOCUMENT struct json_object *claims = jwt_claims(token);
    double expiry = 0;

    if (!claims || !json_read_number(claims, "exp", &expiry, NULL))
        return otherwise_ms;
    double left_ms = (expiry - (double)time(NULL)) * 1000;

    return left_ms < 0 ? 0 : left_ms < 1e12 ? (int64_t)left_ms : otherwise_ms;
}

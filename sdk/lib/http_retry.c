/* Whether a request may be sent again, and after what pause. */
#include "http_client.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/json.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum {
    SECOND = 1000,
    LONGEST_UNIT_MS = 86400 * SECOND,
    LONGEST_DIGITS = 15 /* more would not fit, and no clock says so */
};

/* No service means a pause beyond this. */
static const int64_t LONGEST_DURATION_MS = (int64_t)INT32_MAX * SECOND;

/* Values from here on are no pauses but times since 1970, in seconds or in milliseconds. */
static const int64_t FIRST_TIME_S = 1000000000;
static const int64_t FIRST_TIME_MS = 1000000000000;

/* A number with up to three decimal places, in thousandths; *END behind it. -1 if there is none. */
static int64_t read_thousandths(const char *text, const char **end)
{
    int64_t value = 0;
    int digits = 0;

    for (; isdigit((unsigned char)*text); text++, digits++) {
        if (digits == LONGEST_DIGITS)
            return -1;
        value = value * 10 + (*text - '0');
    }
    if (digits == 0)
        return -1;
    value *= SECOND;
    if (*text == '.') {
        int64_t scale = SECOND;

        for (text++; isdigit((unsigned char)*text); text++)
            value += (scale /= 10) * (*text - '0');
    }
    *end = text;
    return value;
}

/* "6m0s", "1h", "20ms", "1.5s" in milliseconds; -1 if it is no such thing. */
static int64_t read_duration(const char *text)
{
    static const struct {
        const char *unit;
        int64_t milliseconds;
    } units[] = {{"ms", 1}, {"us", 0}, {"d", LONGEST_UNIT_MS}, {"h", 3600 * SECOND}, {"m", 60 * SECOND}, {"s", SECOND}};
    int64_t total = 0;

    while (*text) {
        int64_t thousandths = read_thousandths(text, &text);
        size_t i = 0;
        size_t count = sizeof(units) / sizeof(*units);

        while (i < count && strncmp(text, units[i].unit, strlen(units[i].unit)) != 0)
            i++;
        if (thousandths < 0 || i == count || thousandths > INT64_MAX / 2 / LONGEST_UNIT_MS)
            return -1;
        total += (thousandths * units[i].milliseconds + SECOND - 1) / SECOND;
        if (total > LONGEST_DURATION_MS)
            return -1;
        text += strlen(units[i].unit);
    }
    return total;
}

/* An HTTP date in its three forms, in milliseconds since 1970; -1 if it is none. */
static int64_t read_date(const char *text)
{
    time_t seconds = curl_getdate(text, NULL);

    return seconds < 0 || seconds > INT64_MAX / SECOND || !strchr(text, ':') ? -1 : (int64_t)seconds * SECOND;
}

static int64_t ahead(int64_t time_ms, int64_t now_ms)
{
    return time_ms > now_ms ? time_ms - now_ms : 0;
}

/* The pause that a header's VALUE asks for; UNIT_MS is what its bare numbers count. -1: it makes no sense. */
static int64_t read_pause(const char *value, int64_t unit_ms, int64_t now_ms)
{
    const char *end;
    int64_t thousandths = read_thousandths(value, &end);

    if (thousandths >= 0 && *end == '\0') {
        int64_t number = thousandths / SECOND;

        if (number >= FIRST_TIME_MS)
            return ahead(number, now_ms);
        if (number >= FIRST_TIME_S)
            return ahead(thousandths, now_ms);
        return (thousandths * unit_ms + SECOND - 1) / SECOND;
    }
    if (thousandths >= 0 && isalpha((unsigned char)*end) && !strchr(value, ' '))
        return read_duration(value);
    int64_t date = read_date(value);

    return date < 0 ? -1 : ahead(date, now_ms);
}

static bool starts(const char *name, const char *with)
{
    return strncasecmp(name, with, strlen(with)) == 0;
}

int64_t http_retry_after(const char *headers, size_t length, int64_t now_ms)
{
    int64_t first = -1;
    int64_t named = -1; /* Retry-After-Login: of one limit among several */
    int64_t others = -1;

    for (const char *line = headers, *end = headers + length; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *stop = newline ? newline : end;
        AUTO_FREE char *name = strndup(line, (size_t)(stop - line));
        char *value = name ? strchr(name, ':') : NULL;

        line = newline ? newline + 1 : end;
        if (!value)
            continue;
        *value++ = '\0';
        value += strspn(value, " \t");
        for (char *last = value + strlen(value); last > value && isspace((unsigned char)last[-1]);)
            *--last = '\0';
        if (strcasecmp(name, "Retry-After") == 0) {
            first = read_pause(value, SECOND, now_ms);
        } else if (strcasecmp(name, "Retry-After-Ms") == 0 || strcasecmp(name, "X-Retry-After-Ms") == 0 ||
                   strcasecmp(name, "X-Amz-Retry-After") == 0) {
            int64_t pause = read_pause(value, 1, now_ms);

            others = pause > others ? pause : others;
        } else if (starts(name, "Retry-After-")) {
            int64_t pause = read_pause(value, SECOND, now_ms);

            named = pause > named ? pause : named;
        } else if (starts(name, "X-RateLimit-Reset") || starts(name, "RateLimit-Reset") ||
                   strcasecmp(name, "X-Retry-After") == 0) {
            int64_t pause = read_pause(value, SECOND, now_ms);

            others = pause > others ? pause : others;
        }
    }
    if (first < 0)
        first = named;
    return first >= 0 ? first : others;
}

int64_t http_retry_told(const char *body, size_t length)
{
    AUTO_DOCUMENT struct json_object *document = json_read_document(body, length, NULL);
    double seconds = -1;

    if (document)
        json_find_number(document, "retry_after", &seconds, NULL);
    return seconds >= 0 && seconds <= INT32_MAX ? (int64_t)(seconds * SECOND) : -1;
}

bool http_is_repeatable(const struct http_request *request)
{
    static const char *const methods[] = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS"};

    if (request->never_repeat)
        return false;
    if (request->idempotency_key || request->repeatable)
        return true;
    for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
        if (strcmp(request->method, methods[i]) == 0)
            return true;
    return false;
}

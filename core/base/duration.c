#include "base/duration.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    char letter;
    int64_t seconds;
} units[] = {{'d', 24 * 60 * 60}, {'h', 60 * 60}, {'m', 60}, {'s', 1}};

enum { UNITS = sizeof(units) / sizeof(units[0]), MOST_DIGITS = 10 };

#define LONGEST_S (INT64_C(100) * 365 * 24 * 60 * 60)

bool duration_parse(const char *text, int64_t *seconds)
{
    bool bare = *text && text[strspn(text, "0123456789")] == '\0';
    size_t unit = 0;

    *seconds = 0;
    if (!*text)
        return false;
    while (*text) {
        size_t digits = strspn(text, "0123456789");
        char letter = bare ? 's' : text[digits];

        while (unit < UNITS && units[unit].letter != letter)
            unit++;
        if (digits == 0 || digits > MOST_DIGITS || unit == UNITS)
            return false;
        *seconds += strtoll(text, NULL, 10) * units[unit++].seconds;
        if (*seconds > LONGEST_S)
            return false;
        text += digits + (bare ? 0 : 1);
    }
    return true;
}

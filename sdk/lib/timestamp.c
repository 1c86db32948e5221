#include <sandlot/sdk/timestamp.h>

#include <sandlot/provider.h>

#include <ctype.h>
#include <string.h>
#include <time.h>

/* The decimal places at *TEXT in milliseconds; *TEXT is moved behind them. */
static int64_t read_fraction(const char **text)
{
    int64_t milliseconds = 0;
    int scale = 100;

    if (**text != '.' && **text != ',')
        return 0;
    for (++*text; isdigit((unsigned char)**text); ++*text, scale /= 10)
        milliseconds += (**text - '0') * scale;
    return milliseconds;
}

/* "+01:00" or "-0130" in seconds; 0 for "Z" and for nothing. -1 in *VALID: something else stands there. */
static int64_t read_offset(const char *text, int *valid)
{
    static const int weights[] = {36000, 3600, 600, 60};
    int64_t seconds = 0;
    size_t digits = 0;

    *valid = 0;
    if (*text == '\0' || strcmp(text, "Z") == 0 || strcmp(text, "z") == 0)
        return 0;
    for (const char *at = text + 1; *at && *valid == 0; at++) {
        if (*at == ':' && digits == 2)
            continue;
        if (!isdigit((unsigned char)*at) || digits == sizeof(weights) / sizeof(*weights))
            *valid = -1;
        else
            seconds += (*at - '0') * weights[digits++];
    }
    if ((*text != '+' && *text != '-') || digits != sizeof(weights) / sizeof(*weights))
        *valid = -1;
    return *text == '-' ? -seconds : seconds;
}

int64_t timestamp_read(const char *text)
{
    struct tm parts = {0};
    int valid;
    const char *rest = text ? strptime(text, "%Y-%m-%d", &parts) : NULL;

    if (!rest || (*rest != 'T' && *rest != 't' && *rest != ' '))
        return 0;
    rest = strptime(rest + 1, "%H:%M:%S", &parts);
    if (!rest)
        return 0;
    int64_t milliseconds = read_fraction(&rest);
    int64_t offset = read_offset(rest, &valid);

    return valid < 0 ? 0 : ((int64_t)timegm(&parts) - offset) * 1000 + milliseconds;
}

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t timestamp_now(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t timestamp_on_our_clock(int64_t utc_ms)
{
    return sandlot_now_ms() + utc_ms - timestamp_now();
}

int64_t timestamp_steady_now(void)
{
    return read_clock(CLOCK_BOOTTIME);
}

int64_t timestamp_steady(int64_t utc_ms)
{
    return timestamp_steady_now() + utc_ms - timestamp_now();
}

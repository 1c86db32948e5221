#include "tap.h"

#include "cleanup.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>

enum { TEXT_SIZE = 2048, TEXTS = 16, SHOWN_BYTES = 400 };

static int stream = -1;
static const char *group_name = "";
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

void tap_begin(int fd, const char *group)
{
    stream = fd;
    group_name = group;
}

/* All of it: what a plugin that closed the descriptor leaves unsaid, the runner notices. */
static void put(const char *text, size_t length)
{
    while (length > 0) {
        ssize_t written = write(stream, text, length);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;
        text += written;
        length -= (size_t)written;
    }
}

static void put_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void put_line(const char *format, ...)
{
    AUTO_FREE char *text = NULL;
    va_list arguments;

    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);

    va_end(arguments);
    if (length < 0) {
        text = NULL;
        return;
    }
    pthread_mutex_lock(&one_at_a_time);
    put(text, (size_t)length);
    pthread_mutex_unlock(&one_at_a_time);
}

static char *next_text(void)
{
    static _Thread_local char texts[TEXTS][TEXT_SIZE];
    static _Thread_local unsigned next;

    return texts[next++ % TEXTS];
}

const char *say(const char *format, ...)
{
    char *text = next_text();
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, TEXT_SIZE, format, arguments);
    va_end(arguments);
    return text;
}

/* How many bytes the character at TEXT has, of LENGTH that are there; 0: it is no UTF-8. */
static size_t character_size(const unsigned char *text, size_t length)
{
    size_t size = *text < 0x80 ? 1 : *text >= 0xf0 ? 4 : *text >= 0xe0 ? 3 : *text >= 0xc2 ? 2 : 0;

    if (size == 0 || size > length || *text > 0xf4)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return size;
}

/* Appends one character, escaped where it has to be; returns how many of the LENGTH bytes that took. */
static size_t show_character(char *out, size_t *used, const unsigned char *text, size_t length)
{
    static const char names[] = "0......abtnvfr"; /* by code, where C and YAML have a letter for it */
    size_t size = character_size(text, length);

    if (*text == '\\')
        *used += (size_t)sprintf(out + *used, "\\\\");
    else if (*text < sizeof(names) - 1 && names[*text] != '.')
        *used += (size_t)sprintf(out + *used, "\\%c", names[*text]);
    else if (size == 0 || *text < ' ' || *text == 0x7f)
        *used += (size_t)sprintf(out + *used, "\\x%02X", *text);
    else
        *used += (size_t)sprintf(out + *used, "%.*s", (int)size, (const char *)text);
    return size ? size : 1;
}

const char *shown(const char *bytes, size_t length)
{
    char *text = next_text();
    size_t used = 0;
    size_t at = 0;

    *text = '\0';
    while (at < length && at < SHOWN_BYTES)
        at += show_character(text, &used, (const unsigned char *)bytes + at, length - at);
    if (at < length)
        sprintf(text + used, " ... (%zu bytes more)", length - at);
    return text;
}

/* For YAML's single quotes, in which nothing but the quote itself has a meaning. */
static const char *quoted(const char *plain)
{
    char *text = next_text();
    size_t used = 0;

    for (; *plain && used < TEXT_SIZE - 2; plain++) {
        if (*plain == '\'')
            text[used++] = '\'';
        text[used++] = *plain;
        if ((unsigned char)*plain < ' ' || *plain == 0x7f)
            text[used - 1] = ' ';
    }
    text[used] = '\0';
    return text;
}

bool tap_check(bool passed, const char *name, const char *expected, const char *came, const char *advice)
{
    if (passed)
        put_line("ok - %s: %s\n", group_name, name);
    else
        put_line("not ok - %s: %s\n  ---\n  expected: '%s'\n  came: '%s'\n  advice: '%s'\n  ...\n", group_name, name,
                 quoted(expected), quoted(came), quoted(advice));
    return passed;
}

void tap_skip(const char *name, const char *why)
{
    put_line("ok - %s: %s # SKIP %s\n", group_name, name, shown(why, strlen(why)));
}

void tap_remark(const char *format, ...)
{
    char text[TEXT_SIZE];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    put_line("# %s: %s\n", group_name, shown(text, strlen(text)));
}

void tap_figure(const char *name, double value, const char *unit)
{
    put_line("%cfigure %s\t%.6g\t%s\n", RECORD_MARK, name, value, unit);
}

void tap_record(const char *kind, const char *value)
{
    put_line("%c%s %s\n", RECORD_MARK, kind, value);
}

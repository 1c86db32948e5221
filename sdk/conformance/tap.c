#include "tap.h"

#include "cleanup.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>

enum { TEXT_SIZE = 2048, TEXTS = 16, SHOWN_BYTES = 400 };

static int stream = -1;
static const char *line_token = "";
static const char *group_name = "";
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

void tap_begin(int fd, const char *token, const char *group)
{
    stream = fd;
    line_token = token;
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

/* TEXT with the token before each of its lines, in one piece: whatever a plugin prints comes before or after it. */
static char *with_token(const char *text)
{
    size_t token = strlen(line_token);
    size_t lines = 0;

    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    char *marked = malloc(strlen(text) + lines * token + 1);
    char *end = marked;

    for (const char *line = text; marked && *line;) {
        size_t length = strcspn(line, "\n") + 1;

        memcpy(end, line_token, token);
        memcpy(end + token, line, length);
        end += token + length;
        line += length;
    }
    if (marked)
        *end = '\0';
    return marked;
}

static void put_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void put_line(const char *format, ...)
{
    AUTO_FREE char *text = NULL;
    va_list arguments;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    AUTO_FREE char *marked = text ? with_token(text) : NULL;

    if (!marked)
        return;
    pthread_mutex_lock(&one_at_a_time);
    put(marked, strlen(marked));
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

/* A "#" in a name would begin a directive, such as one that lets a failure pass. */
const char *named(const char *plain)
{
    char *text = next_text();
    const char *readable = shown(plain, strlen(plain));
    size_t used = 0;

    for (; *readable && used < TEXT_SIZE - 2; readable++) {
        if (*readable == '#')
            text[used++] = '\\';
        text[used++] = *readable;
    }
    text[used] = '\0';
    return text;
}

/* Between them nothing but the quote itself has a meaning; and they hold UTF-8 without control characters. */
const char *quoted(const char *plain)
{
    char *text = next_text();
    const unsigned char *at = (const unsigned char *)plain;
    size_t length = strlen(plain);
    size_t used = 0;

    while (length > 0 && used < TEXT_SIZE - 8) {
        size_t size = character_size(at, length);

        if (*at == '\'')
            text[used++] = '\'';
        if (size == 0 || *at < ' ' || *at == 0x7f)
            text[used++] = size == 0 ? '?' : ' ';
        else
            used += (size_t)sprintf(text + used, "%.*s", (int)size, (const char *)at);
        at += size ? size : 1;
        length -= size ? size : 1;
    }
    text[used] = '\0';
    return text;
}

/* Hundreds of checks would fail by the same crash of the provider's process. The sandbox is deleted with the leftovers.
 */
static void give_up(void)
{
    tap_remark("the rest of this group is left out: mend the crash first");
    tap_record("end", "");
    _exit(0);
}

bool tap_check(bool passed, const char *name, const char *expected, const char *came, const char *advice)
{
    bool crashed = !passed && (strstr(came, "the provider crashed") || strstr(came, "ended its process by itself"));

    if (crashed)
        advice =
            "The provider's code ended its process: let it crash under a debugger, which isolation = \"none\" is for.";
    if (passed)
        put_line("ok - %s: %s\n", group_name, named(name));
    else
        put_line("not ok - %s: %s\n  ---\n  expected: '%s'\n  came: '%s'\n  advice: '%s'\n  ...\n", group_name,
                 named(name), quoted(expected), quoted(came), quoted(advice));
    if (crashed)
        give_up();
    return passed;
}

void tap_skip(const char *name, const char *why)
{
    put_line("ok - %s: %s # SKIP %s\n", group_name, named(name), named(why));
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

/* An id may hold anything: what would end the line goes as "%" and two digits. */
static char *encoded(const char *value)
{
    char *text = malloc(3 * strlen(value) + 1);
    char *end = text;

    for (; text && *value; value++) {
        if ((unsigned char)*value < ' ' || *value == '%')
            end += sprintf(end, "%%%02X", (unsigned)(unsigned char)*value);
        else
            *end++ = *value;
    }
    if (text)
        *end = '\0';
    return text;
}

void tap_record(const char *kind, const char *value)
{
    AUTO_FREE char *text = encoded(value);

    if (text)
        put_line("%c%s %s\n", RECORD_MARK, kind, text);
}

void tap_decode(char *value)
{
    char *end = value;
    unsigned code = 0;

    for (; *value; value++) {
        if (*value != '%' || sscanf(value + 1, "%2X", &code) != 1) {
            *end++ = *value;
            continue;
        }
        *end++ = (char)code;
        value += 2;
    }
    *end = '\0';
}

#include "cli/output.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/usage.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>

enum { POLL_MS = 100, USAGE_STATUS = 2, DEFAULT_COLUMNS = 80, LEAST_COLUMNS = 20 /* of a last column */ };

static int write_error; /* the errno of the first write that failed */

/* Waits until standard output takes bytes. False after a signal, unless it does at once: a reader that reads no more
 * must not hold up the cleaning up, and one that reads is told what came of it. */
static bool wait_writable(void)
{
    for (;;) {
        struct pollfd output = {STDOUT_FILENO, POLLOUT, 0};
        bool interrupted = signals_received();
        int ready = poll(&output, 1, interrupted ? 0 : POLL_MS);

        if (ready > 0)
            return true;
        if (ready < 0 && errno != EINTR)
            return false;
        if (interrupted) {
            errno = EINTR;
            return false;
        }
    }
}

static bool write_all(const char *at, size_t length)
{
    struct stat status;
    bool patient = fstat(STDOUT_FILENO, &status) == 0 && !S_ISREG(status.st_mode);

    while (length) {
        if (patient && !wait_writable())
            return false;
        /* A pipe that is ready takes this much without blocking. */
        ssize_t written = write(STDOUT_FILENO, at, patient && length > PIPE_BUF ? PIPE_BUF : length);

        if (written < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        if (written > 0) {
            at += written;
            length -= (size_t)written;
        }
    }
    return true;
}

bool output_write(const void *bytes, size_t length)
{
    if (write_error)
        return false;
    if (write_all(bytes, length))
        return true;
    write_error = errno;
    return false;
}

bool output_format(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    AUTO_FREE char *text = text_format_v(format, arguments);
    va_end(arguments);
    if (text)
        return output_write(text, strlen(text));
    write_error = ENOMEM;
    return false;
}

bool output_line(const char *text)
{
    AUTO_FREE char *visible = text ? text_visible(text) : NULL;

    if (visible)
        return output_format("%s\n", visible);
    write_error = ENOMEM;
    return false;
}

bool output_json(struct json_object *object)
{
    size_t length = 0;
    const char *text = object ? json_object_to_json_string_length(object, OUTPUT_JSON, &length) : NULL;

    if (!text)
        write_error = ENOMEM;
    bool written = text && output_write(text, length) && output_write("\n", 1);

    json_object_put(object);
    return written;
}

bool output_failed(void)
{
    return write_error != 0;
}

int output_status(int status)
{
    if (write_error == 0 || write_error == EINTR) /* after a signal the status says so already */
        return status;
    if (write_error == EPIPE)
        return 128 + SIGPIPE;
    if (write_error == ENOMEM) {
        progress_line("sandlot: there is not enough memory for the result; free some, or ask for less");
        return 1;
    }
    progress_line("sandlot: standard output cannot be written to: %s; give it a place that takes the result",
                  strerror(write_error));
    return 1;
}

int report_error(const struct options *options, const struct sandlot_error *error)
{
    int status = error_exit_status(error->code);

    progress_end();
    if (status == USAGE_STATUS)
        return usage_error(options->command, "%s", error->message);
    if (!options->json) {
        progress_line("sandlot: %s", error->message);
        return status;
    }
    struct json_object *object = json_object_new_object();

    report_error_in(object, error);
    output_json(object);
    return output_status(status);
}

void report_error_in(struct json_object *object, const struct sandlot_error *error)
{
    progress_line("sandlot: %s", error->message);
    json_add_error(object, error);
}

void json_add_error(struct json_object *object, const struct sandlot_error *error)
{
    json_object_object_add(object, "error", json_object_new_string(sandlot_code_name(error->code)));
    json_object_object_add(object, "message", json_text(error->message));
}

struct json_object *json_bytes(const void *bytes, size_t length)
{
    size_t clean_length = 0;
    AUTO_FREE char *clean = text_utf8_replace(bytes, length, &clean_length);

    return clean && clean_length <= INT_MAX ? json_object_new_string_len(clean, (int)clean_length) : NULL;
}

struct json_object *json_text(const char *text)
{
    return text ? json_bytes(text, strlen(text)) : NULL;
}

char *time_text(int64_t utc_ms)
{
    time_t seconds = (time_t)(utc_ms / 1000);
    struct tm parts;
    char text[64];

    if (utc_ms <= 0 || !gmtime_r(&seconds, &parts) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts))
        return NULL;
    return strdup(text);
}

char *since_text(int64_t created_at_ms)
{
    int64_t age = (int64_t)time(NULL) - created_at_ms / 1000;

    if (created_at_ms <= 0)
        return NULL;
    if (age < 0)
        age = 0;
    if (age < 120)
        return text_format("%lld s", (long long)age);
    if (age < 120 * 60)
        return text_format("%lld min", (long long)age / 60);
    return age < 48 * 3600 ? text_format("%lld h", (long long)age / 3600)
                           : text_format("%lld d", (long long)age / 86400);
}

void table_add(struct table *table, const char *const *cells)
{
    char **grown = realloc(table->cells, (table->count + table->columns) * sizeof(*grown));

    if (!grown) {
        write_error = ENOMEM;
        return;
    }
    table->cells = grown;
    for (size_t i = 0; i < table->columns; i++)
        table->cells[table->count++] = text_visible(cells[i] ? cells[i] : "-");
}

/* How many columns of a terminal TEXT takes, near enough: one per character. */
static size_t width(const char *text)
{
    size_t characters = 0;

    for (; *text; text++)
        characters += ((unsigned char)*text & 0xc0) != 0x80;
    return characters;
}

/* The widest cell of each column. */
static void measure(const struct table *table, size_t *widest)
{
    for (size_t i = 0; i < table->count; i++) {
        size_t cell = table->cells[i] ? width(table->cells[i]) : 0;
        size_t *column = &widest[i % table->columns];

        *column = cell > *column ? cell : *column;
    }
}

/* How many columns the reader has; SIZE_MAX where that is no terminal, for programs want one line for each row. */
static size_t window_columns(void)
{
    struct winsize size = {0};

    if (isatty(STDOUT_FILENO) != 1)
        return SIZE_MAX;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : DEFAULT_COLUMNS;
}

/* TEXT, which begins in column INDENT, word by word and no wider than COLUMNS but for single words. */
static void put_words(FILE *out, const char *text, size_t indent, size_t columns)
{
    size_t at = indent;

    while (*text) {
        AUTO_FREE char *word = strndup(text, strcspn(text, " "));
        size_t needed = word ? width(word) : 0;

        if (at > indent && at + 1 + needed > columns) {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            fputc(' ', out);
            at++;
        }
        fputs(word ? word : "", out);
        at += needed;
        text += strcspn(text, " ");
        text += *text == ' ';
    }
    fputc('\n', out);
}

/* The table as text, to be freed; NULL when out of memory. */
static char *render(const struct table *table, size_t *length)
{
    AUTO_FREE size_t *widest = calloc(table->columns, sizeof(*widest));
    char *text = NULL;
    FILE *out = widest ? open_memstream(&text, length) : NULL;

    if (!out)
        return NULL;
    measure(table, widest);
    const size_t columns = window_columns();
    size_t indent = 0;

    for (size_t i = 0; i + 1 < table->columns; i++)
        indent += widest[i] + 2;
    for (size_t i = 0; i < table->count; i++) {
        const char *cell = table->cells[i] ? table->cells[i] : "";
        size_t column = i % table->columns;
        bool last = column + 1 == table->columns;

        if (last && columns != SIZE_MAX && indent + LEAST_COLUMNS <= columns)
            put_words(out, cell, indent, columns);
        else
            fprintf(out, "%s%*s%s", cell, last ? 0 : (int)(widest[column] - width(cell) + 2), "", last ? "\n" : "");
    }
    return fclose(out) == 0 ? text : NULL;
}

void table_print(struct table *table)
{
    size_t length = 0;
    AUTO_FREE char *text = render(table, &length);

    if (text)
        output_write(text, length);
    else
        write_error = ENOMEM;
    table_clear(table);
}

void table_clear(struct table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    free(table->cells);
    *table = (struct table){0};
}

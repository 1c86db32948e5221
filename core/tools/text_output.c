/* What commands print. */
#include "base/cleanup.h"
#include "base/text.h"
#include "tools/text.h"

#include <inttypes.h>
#include <string.h>

enum { ESCAPE = 0x1b, DELETE = 0x7f, BELL = 0x07, BACKSPACE = 0x08, SIGNAL_BASE = 128 };

/* Cleans valid UTF-8 in place: what is kept is never longer than what was read. */
struct cleaner {
    const unsigned char *at;
    const unsigned char *end;
    char *out;
    char *line;    /* where the line at hand begins in the output */
    bool returned; /* a carriage return came: the next character writes over the line */
};

/* Parameters and final byte of a control sequence. Of all of them only "erase line" changes what is left standing. */
static void control_sequence(struct cleaner *cleaner)
{
    const unsigned char *parameters = cleaner->at;

    while (cleaner->at < cleaner->end && *cleaner->at >= 0x20 && *cleaner->at <= 0x3f)
        cleaner->at++;
    if (cleaner->at == cleaner->end || *cleaner->at < 0x40 || *cleaner->at >= DELETE)
        return; /* broken off: what comes now is text again */
    bool whole_line = cleaner->at - parameters == 1 && *parameters == '2';

    if (*cleaner->at == 'K' && (cleaner->returned || whole_line))
        cleaner->out = cleaner->line;
    cleaner->at++;
}

/* A title, a clipboard and the like, up to its terminator; a line's end closes one that has none. */
static void control_string(struct cleaner *cleaner)
{
    while (cleaner->at < cleaner->end && *cleaner->at != '\n') {
        unsigned char byte = *cleaner->at++;

        if (byte == BELL)
            return;
        if (byte == ESCAPE && cleaner->at < cleaner->end && *cleaner->at == '\\') {
            cleaner->at++;
            return;
        }
        if (byte == 0xc2 && cleaner->at < cleaner->end && *cleaner->at == 0x9c) {
            cleaner->at++;
            return;
        }
    }
}

/* After ESC, or with the C1 character that stands for ESC and INTRODUCER. */
static void sequence(struct cleaner *cleaner, unsigned char introducer)
{
    if (introducer == '[')
        control_sequence(cleaner);
    else if (introducer && strchr("]PX^_", introducer))
        control_string(cleaner);
}

static void escape(struct cleaner *cleaner)
{
    while (cleaner->at < cleaner->end && *cleaner->at >= 0x20 && *cleaner->at <= 0x2f)
        cleaner->at++; /* as in ESC ( B */
    if (cleaner->at < cleaner->end && *cleaner->at >= 0x30 && *cleaner->at < DELETE)
        sequence(cleaner, *cleaner->at++);
}

static void keep(struct cleaner *cleaner, unsigned char byte)
{
    if (byte == '\n')
        cleaner->line = cleaner->out + 1;
    else if (cleaner->returned)
        cleaner->out = cleaner->line;
    cleaner->returned = false;
    *cleaner->out++ = (char)byte;
}

static void back(struct cleaner *cleaner)
{
    while (cleaner->out > cleaner->line && ((unsigned char)*--cleaner->out & 0xc0) == 0x80)
        continue;
}

static void step(struct cleaner *cleaner)
{
    unsigned char byte = *cleaner->at++;

    if (byte == ESCAPE) {
        escape(cleaner);
    } else if (byte == 0xc2 && *cleaner->at >= 0x80 && *cleaner->at <= 0x9f) {
        unsigned char c1 = *cleaner->at++; /* valid UTF-8: the second byte is there */

        sequence(cleaner, (unsigned char)(c1 - 0x40));
    } else if (byte == '\r') {
        cleaner->returned = true;
    } else if (byte == BACKSPACE) {
        back(cleaner);
    } else if ((byte >= 0x20 && byte != DELETE) || byte == '\n' || byte == '\t' || byte == '\0') {
        keep(cleaner, byte);
    }
}

char *text_of_output(const void *output, size_t length, size_t *clean_length)
{
    size_t valid_length = 0;
    char *text = text_utf8_replace(output, length, &valid_length);

    if (!text)
        return NULL;
    struct cleaner cleaner = {.at = (const unsigned char *)text, .out = text, .line = text};

    cleaner.end = cleaner.at + valid_length;
    while (cleaner.at < cleaner.end)
        step(&cleaner);
    *cleaner.out = '\0';
    if (clean_length)
        *clean_length = (size_t)(cleaner.out - text);
    return text;
}

char *text_of_status(const struct sandlot_result *result)
{
    if (!result->has_exit_code)
        return strdup("");
    if (result->exit_code == 0)
        return strdup("[Command succeeded with exit code 0]");
    if (result->timed_out)
        return text_format("[For more time set timeout, in seconds, at most 3600; or start it with "
                           "background, and look at it with process.]\n"
                           "[Command failed with exit code %d]",
                           result->exit_code);
    const char *name = result->exit_code > SIGNAL_BASE ? sigabbrev_np(result->exit_code - SIGNAL_BASE) : NULL;

    return name ? text_format("[Command failed with exit code %d (signal SIG%s)]", result->exit_code, name)
                : text_format("[Command failed with exit code %d]", result->exit_code);
}

static bool continues_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* The end of a head of at most WANTED bytes: after a newline, unless that would waste more than half of it. */
static size_t head_end(const char *text, size_t wanted)
{
    const char *newline = memrchr(text, '\n', wanted);
    size_t end = newline ? (size_t)(newline + 1 - text) : 0;

    if (end >= wanted / 2)
        return end;
    for (end = wanted; end > 0 && continues_character(text[end]);)
        end--;
    return end;
}

static size_t tail_start(const char *text, size_t length, size_t wanted)
{
    size_t start = length - wanted;
    const char *newline = memchr(text + start - 1, '\n', wanted / 2 + 1);

    if (newline)
        return (size_t)(newline + 1 - text);
    while (start < length && continues_character(text[start]))
        start++;
    return start;
}

static uint64_t count_newlines(const char *text, size_t length)
{
    uint64_t count = 0;

    for (const char *at = text; (at = memchr(at, '\n', length - (size_t)(at - text))); at++)
        count++;
    return count;
}

bool text_gap_find(const char *text, size_t length, size_t shown, struct text_gap *gap)
{
    if (length <= shown)
        return false;
    size_t head = shown / 4;

    gap->head = head_end(text, head);
    gap->tail = tail_start(text, length, shown - head);
    gap->bytes_left_out = gap->tail - gap->head;
    gap->lines_before = count_newlines(text, gap->head);
    gap->lines_left_out = count_newlines(text + gap->head, gap->bytes_left_out);
    gap->whole_lines =
        gap->lines_left_out > 0 && (gap->head == 0 || text[gap->head - 1] == '\n') && text[gap->tail - 1] == '\n';
    return true;
}

static void add_on_new_line(struct buffer *text, const char *more)
{
    if (!more || !*more)
        return;
    if (text->length > 0 && text->bytes[text->length - 1] != '\n')
        buffer_add(text, "\n", 1);
    buffer_add_text(text, more);
}

char *text_of_result(const char *output, size_t output_length, const struct text_gap *gap, const char *note,
                     const char *status, size_t *length)
{
    struct buffer text = {0};

    buffer_add(&text, output, gap ? gap->head : output_length);
    if (gap && gap->whole_lines)
        buffer_format(&text, "[... %" PRIu64 " line%s ...]\n", gap->lines_left_out,
                      gap->lines_left_out == 1 ? "" : "s");
    else if (gap)
        buffer_format(&text, "\n[... %zu bytes ...]\n", gap->bytes_left_out);
    if (gap)
        buffer_add(&text, output + gap->tail, output_length - gap->tail);
    add_on_new_line(&text, note);
    add_on_new_line(&text, status);
    if (text.length == 0)
        buffer_add_text(&text, "[The command printed nothing, and how it ended is not known]");
    return buffer_take(&text, length);
}

/* Pages of files with numbered lines. */
#include "base/cleanup.h"
#include "base/text.h"
#include "operations/page.h"
#include "tools/media.h"
#include "tools/text.h"

#include <inttypes.h>
#include <string.h>

enum {
    NOTE_ROOM = 1024, /* for all the notes after the lines */
    ROW = 5000,       /* characters of a line that stand on one row */
    LABEL = 48        /* the most that stands before them */
};

/* How many bytes of TEXT hold at most MAXIMUM characters. */
static size_t characters(const char *text, size_t length, size_t maximum)
{
    size_t count = 0;

    if (length <= maximum)
        return length;
    for (size_t i = 0; i < length; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80 && count++ == maximum)
            return i;
    return length;
}

/* "   NUMBER  ", or "NUMBER.PART  " before the rows that continue a line. */
static void add_label(struct buffer *rows, int64_t number, uint64_t part)
{
    enum { WIDTH = 6, DECIMAL = 10 };
    char label[LABEL];
    char *end = label + sizeof(label);
    char *at = end;

    *--at = ' ';
    *--at = ' ';
    if (part > 0) {
        for (; part > 0; part /= DECIMAL)
            *--at = (char)('0' + part % DECIMAL);
        *--at = '.';
    }
    for (; number > 0; number /= DECIMAL)
        *--at = (char)('0' + number % DECIMAL);
    while (end - at < WIDTH + 2)
        *--at = ' ';
    buffer_add(rows, at, (size_t)(end - at));
}

/* One line of the file as one or more rows. */
static void add_line(struct buffer *rows, int64_t number, const char *line, size_t length)
{
    for (uint64_t part = 0; part == 0 || length > 0; part++) {
        size_t taken = characters(line, length, ROW);

        if (rows->length > 0)
            buffer_add(rows, "\n", 1);
        add_label(rows, number, part);
        buffer_add(rows, line, taken);
        line += taken;
        length -= taken;
    }
}

/* What was rendered of a page. */
struct rendered {
    struct buffer rows;
    int64_t last;      /* the last line that is shown as a whole */
    size_t line_shown; /* bytes of the first line, where it did not fit */
    size_t line_bytes;
};

/* Even the first line does not fit: as much of it as does, cut between characters. */
static void add_part_of_line(struct rendered *to, const struct sandlot_page *page, const char *line, size_t length,
                             size_t room)
{
    size_t labels = (room / ROW + 1) * LABEL;
    size_t shown = room > labels ? room - labels : 0;

    while (shown > 0 && ((unsigned char)line[shown] & 0xc0) == 0x80)
        shown--;
    to->rows.length = 0;
    add_line(&to->rows, page->start_line, line, shown);
    to->line_bytes = length;
    to->line_shown = shown;
}

static void render_lines(const char *content, size_t length, const struct sandlot_page *page, size_t room,
                         struct rendered *to)
{
    const char *at = content;
    const char *end = content + length;

    to->last = page->start_line - 1;
    for (int64_t number = page->start_line; number <= page->end_line; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = newline ? newline : end;
        size_t before = to->rows.length;

        add_line(&to->rows, number, at, (size_t)(line_end - at));
        if (to->rows.no_memory)
            return;
        if (to->rows.length > room && number == page->start_line) {
            add_part_of_line(to, page, at, (size_t)(line_end - at), room);
            return;
        }
        if (to->rows.length > room) {
            to->rows.length = before;
            to->rows.bytes[before] = '\0';
            return;
        }
        to->last = number;
        if (!newline)
            return;
        at = newline + 1;
    }
}

static void note_range(struct buffer *text, const struct sandlot_page *page, int64_t last, int64_t next_offset)
{
    int64_t count = last - page->start_line + 1;

    buffer_format(text, "\n\n[Read %" PRId64 " line%s: %" PRId64 " to %" PRId64, count, count == 1 ? "" : "s",
                  page->start_line, last);
    if (page->total_lines >= 0)
        buffer_format(text, " of %" PRId64 "; %" PRId64 " remain.", page->total_lines, page->total_lines - last);
    else
        buffer_add_text(text, "; more remain.");
    buffer_format(text, " Go on with offset %" PRId64 ".]", next_offset);
}

static void note_long_line(struct buffer *text, const struct sandlot_page *page, const struct rendered *rendered)
{
    uint64_t bytes = rendered->line_bytes + page->line_truncated;

    buffer_format(text,
                  "\n\n[Line %" PRId64 " does not fit: the first %zu of its %s%" PRIu64
                  " bytes are shown. Search in it with grep, or see the rest in pieces with execute: "
                  "sed -n %" PRId64 "p FILE | cut -b %zu-%zu]",
                  page->start_line, rendered->line_shown, page_line_truncated_word(page), bytes, page->start_line,
                  rendered->line_shown + 1, rendered->line_shown * 2);
}

/* After the lines: what else the reader should know. */
static void note_rest(struct buffer *text, const struct sandlot_read *request, const struct sandlot_page *page)
{
    if (page->line_truncated > 0)
        buffer_format(text, "\n[%s%" PRIu64 " bytes of line %" PRId64 " are left out: it is too long.]",
                      page_line_truncated_word(page), page->line_truncated, page->end_line);
    if (page->lossy)
        buffer_add_text(text, "\n[Bytes that are not UTF-8 are shown as \xef\xbf\xbd.]");
    if (request->offset < 0)
        buffer_format(text, "\n[The offset %" PRId64 " is negative; it was taken as 0.]", request->offset);
}

static char *without_lines(const struct sandlot_read *request, const struct sandlot_page *page, size_t *length)
{
    AUTO_FREE char *path = text_path(request->path);
    struct buffer text = {0};

    if (!path)
        return NULL;
    if (page->empty)
        buffer_format(&text, "File '%s' exists but is empty.", path);
    else if (page->total_lines >= 0)
        buffer_format(&text, "Nothing was read: the limit is below 1. File '%s' has %" PRId64 " line%s.", path,
                      page->total_lines, page->total_lines == 1 ? "" : "s");
    else
        buffer_format(&text, "Nothing was read: the limit is below 1. File '%s' is not empty.", path);
    note_rest(&text, request, page);
    return buffer_take(&text, length);
}

static char *with_lines(const struct sandlot_read *request, const struct sandlot_page *page, size_t maximum,
                        int64_t *next_offset, size_t *length)
{
    size_t content_length = page->content_length;
    bool valid = text_utf8_valid(page->content, content_length);
    AUTO_FREE char *replaced = valid ? NULL : text_utf8_replace(page->content, content_length, &content_length);
    const char *content = valid ? page->content : replaced;
    struct rendered rendered = {.last = 0};

    if (!content)
        return NULL;
    render_lines(content, content_length, page, maximum - NOTE_ROOM, &rendered);
    if (rendered.line_bytes > 0) {
        note_long_line(&rendered.rows, page, &rendered);
    } else {
        *next_offset = rendered.last < page->end_line ? rendered.last : page->next_offset;
        if (*next_offset >= 0)
            note_range(&rendered.rows, page, rendered.last, *next_offset);
        else if (page->lossy || request->offset < 0)
            buffer_add_text(&rendered.rows, "\n");
        note_rest(&rendered.rows, request, page);
    }
    return buffer_take(&rendered.rows, length);
}

char *text_of_page(const struct sandlot_read *request, const struct sandlot_page *page, size_t maximum,
                   int64_t *next_offset, size_t *length)
{
    int64_t own_offset = -1;
    int64_t *offset = next_offset ? next_offset : &own_offset;

    *offset = -1;
    if (page->binary && !page->empty) {
        char *text = text_of_binary(request->path, page->content, page->content_length);

        if (length)
            *length = text ? strlen(text) : 0;
        return text;
    }
    if (page->empty || page->no_lines_requested || page->start_line < 1)
        return without_lines(request, page, length);
    return with_lines(request, page, maximum < TEXT_LEAST ? TEXT_LEAST : maximum, offset, length);
}

char *text_of_binary(const char *path, const void *content, size_t length)
{
    struct media media;
    AUTO_FREE char *shown = text_path(path);

    media_detect(content, length, &media);
    return shown ? text_format("File '%s' is binary (%s, %zu bytes) and not shown as text. %s", shown, media.name,
                               length, media.advice)
                 : NULL;
}

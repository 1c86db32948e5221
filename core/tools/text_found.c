/* What listings and searches found. */
#include "base/cleanup.h"
#include "base/text.h"
#include "tools/text.h"

#include <inttypes.h>
#include <string.h>

enum {
    NOTE_ROOM = 512, /* for the notes after the lines */
    LONGEST = 2000   /* bytes of one matching line that are shown */
};

static size_t count_lines(const char *text, size_t length)
{
    size_t count = 0;

    for (const char *at = text; (at = memchr(at, '\n', length - (size_t)(at - text))); at++)
        count++;
    return count;
}

/* Ends LINES, of which each has its newline, where MAXIMUM wants it, and adds what is to be said then. */
static char *finish(struct buffer *lines, bool truncated, size_t maximum, bool *cut, size_t *length)
{
    size_t room = (maximum < TEXT_LEAST ? TEXT_LEAST : maximum) - NOTE_ROOM;
    size_t left_out = 0;

    if (lines->no_memory)
        return buffer_take(lines, length);
    if (lines->length > room) {
        const char *last = memrchr(lines->bytes, '\n', room);
        size_t end = last ? (size_t)(last + 1 - lines->bytes) : 0;

        left_out = count_lines(lines->bytes + end, lines->length - end);
        lines->length = end;
    }
    if (lines->length > 0)
        lines->length--;
    lines->bytes[lines->length] = '\0';
    if (truncated)
        buffer_format(lines,
                      "%s[The search ended early: there may be more. Search in a narrower path or for a narrower "
                      "pattern.]",
                      lines->length ? "\n\n" : "");
    if (left_out > 0)
        buffer_format(lines, "%s[Output cut: %zu more line%s left out. Narrow the path or the pattern to see them.]",
                      !lines->length ? ""
                      : truncated    ? "\n"
                                     : "\n\n",
                      left_out, left_out == 1 ? "" : "s");
    if (cut)
        *cut = left_out > 0;
    return buffer_take(lines, length);
}

bool text_entries_add(void *context, const struct sandlot_file_entry *entry)
{
    struct text_entries *entries = context;
    AUTO_FREE char *path = text_visible(entry->path);

    if (!path) {
        entries->lines.no_memory = true;
        return false;
    }
    bool slash = entry->is_dir && path[0] && path[strlen(path) - 1] != '/';

    return buffer_add_text(&entries->lines, path) && buffer_add_text(&entries->lines, slash ? "/\n" : "\n");
}

char *text_of_entries(struct text_entries *entries, bool truncated, const char *what_if_none, size_t maximum, bool *cut)
{
    if (entries->lines.length == 0)
        buffer_format(&entries->lines, "%s\n", what_if_none);
    return finish(&entries->lines, truncated, maximum, cut, NULL);
}

void text_entries_clear(struct text_entries *entries)
{
    buffer_clear(&entries->lines);
}

/* In TEXT_GREP_COUNT a file's line is known when its last match has come. */
static void end_file(struct text_matches *matches)
{
    if (matches->mode == TEXT_GREP_COUNT && matches->path)
        buffer_format(&matches->lines, "%s: %" PRIu64 "\n", matches->path, matches->count);
}

static bool begin_file(struct text_matches *matches, const char *path)
{
    end_file(matches);
    free(matches->raw_path);
    free(matches->path);
    matches->raw_path = strdup(path);
    matches->path = text_visible(path);
    matches->count = 0;
    if (!matches->raw_path || !matches->path) {
        matches->lines.no_memory = true;
        return false;
    }
    if (matches->mode == TEXT_GREP_FILES)
        buffer_format(&matches->lines, "%s\n", matches->path);
    if (matches->mode == TEXT_GREP_CONTENT)
        buffer_format(&matches->lines, "%s:\n", matches->path);
    return !matches->lines.no_memory;
}

/* One line of a file. A carriage return within it would move what follows to the line's beginning on a terminal. */
static bool add_line(struct text_matches *matches, const struct sandlot_match *match)
{
    size_t length = 0;
    AUTO_FREE char *text = text_utf8_replace(match->text, match->text_length, &length);

    if (!text) {
        matches->lines.no_memory = true;
        return false;
    }
    size_t shown = length > LONGEST ? LONGEST : length;

    while (shown > 0 && shown < length && ((unsigned char)text[shown] & 0xc0) == 0x80)
        shown--;
    for (size_t i = 0; i < shown; i++)
        if (text[i] == '\n' || text[i] == '\r')
            text[i] = ' ';
    buffer_format(&matches->lines, "  %" PRId64 ": ", match->line);
    buffer_add(&matches->lines, text, shown);
    if (shown < length)
        buffer_format(&matches->lines, " [%zu more bytes of this line left out]", length - shown);
    return buffer_add(&matches->lines, "\n", 1);
}

bool text_matches_add(void *context, const struct sandlot_match *match)
{
    struct text_matches *matches = context;

    if ((!matches->raw_path || strcmp(matches->raw_path, match->path) != 0) && !begin_file(matches, match->path))
        return false;
    matches->count++;
    return matches->mode != TEXT_GREP_CONTENT || add_line(matches, match);
}

static bool looks_like_expression(const char *pattern)
{
    return strpbrk(pattern, "|^$\\") || strstr(pattern, ".*") || strstr(pattern, ".+") || strstr(pattern, "[^");
}

char *text_of_matches(struct text_matches *matches, bool truncated, const char *pattern, size_t maximum, bool *cut,
                      size_t *length)
{
    if (!matches->path) {
        buffer_add_text(&matches->lines, "No matches found");
        if (looks_like_expression(pattern))
            buffer_add_text(&matches->lines, ". The pattern was taken literally; to search with a regular expression "
                                             "run grep -E with execute, as in grep -rnE 'a|b' src.");
        buffer_add(&matches->lines, "\n", 1);
    }
    end_file(matches);
    return finish(&matches->lines, truncated, maximum, cut, length);
}

void text_matches_clear(struct text_matches *matches)
{
    buffer_clear(&matches->lines);
    free(matches->path);
    free(matches->raw_path);
    matches->path = NULL;
    matches->raw_path = NULL;
    matches->count = 0;
}

#include "operations/edit_text.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "operations/excerpt.h"
#include "operations/page.h"

#include <inttypes.h>
#include <string.h>

enum { LINES_TOLD = 10 };

/* A part of a text, not ended by NUL. */
struct span {
    const char *text;
    size_t length;
};

/* ---- candidates ------------------------------------------------------------------------------------------------ */

/* TEXT with "\r\n" for every line end, an existing one staying one, or (WINDOWS false) with "\n". *RESULT stays NULL
 * when out of memory. */
static void convert_ends(struct span text, bool windows, char **result, size_t *length)
{
    char *out = text.length < SIZE_MAX / 2 ? malloc(text.length * 2 + 1) : NULL;
    size_t used = 0;

    *result = out;
    if (!out)
        return;
    for (size_t i = 0; i < text.length; i++) {
        if (text.text[i] == '\r' && i + 1 < text.length && text.text[i + 1] == '\n')
            continue;
        if (text.text[i] == '\n' && windows)
            out[used++] = '\r';
        out[used++] = text.text[i];
    }
    out[used] = '\0';
    *length = used;
}

static bool same(struct span a, struct span b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.text, b.text, a.length) == 0);
}

static struct span old_of(const struct edit_candidate *candidate)
{
    return (struct span){candidate->old_string, candidate->old_length};
}

static struct span new_of(const struct edit_candidate *candidate)
{
    return (struct span){candidate->new_string, candidate->new_length};
}

static void candidate_clear(struct edit_candidate *candidate)
{
    free(candidate->old_string);
    free(candidate->new_string);
    *candidate = (struct edit_candidate){0};
}

/* Takes CANDIDATE over, unless it is incomplete or looks for what an earlier one has looked for. */
static bool add_candidate(struct edit_candidates *candidates, struct edit_candidate *candidate)
{
    bool complete = candidate->old_string && candidate->new_string;
    bool known = false;

    for (size_t i = 0; complete && i < candidates->count; i++)
        known |= same(old_of(&candidates->items[i]), old_of(candidate));
    if (complete && !known)
        candidates->items[candidates->count++] = *candidate;
    else
        candidate_clear(candidate);
    return complete;
}

static char *copy_of(struct span text)
{
    char *copy = malloc(text.length + 1);

    if (!copy)
        return NULL;
    if (text.length)
        memcpy(copy, text.text, text.length);
    copy[text.length] = '\0';
    return copy;
}

bool edit_candidates_make(const struct edit_wish *wish, struct edit_candidates *candidates)
{
    static const bool windows[] = {true, false};
    struct span old_string = {wish->old_string, wish->old_length};
    struct span new_string = {wish->new_string, wish->new_length};
    struct edit_candidate as_sent = {copy_of(old_string), wish->old_length, copy_of(new_string), wish->new_length};

    *candidates = (struct edit_candidates){0};
    bool complete = add_candidate(candidates, &as_sent);

    for (size_t i = 0; complete && i < sizeof(windows) / sizeof(windows[0]); i++) {
        struct edit_candidate candidate = {0};

        convert_ends(old_string, windows[i], &candidate.old_string, &candidate.old_length);
        convert_ends(new_string, windows[i], &candidate.new_string, &candidate.new_length);
        complete = add_candidate(candidates, &candidate);
    }
    return complete;
}

void edit_candidates_clear(struct edit_candidates *candidates)
{
    for (size_t i = 0; i < candidates->count; i++)
        candidate_clear(&candidates->items[i]);
    *candidates = (struct edit_candidates){0};
}

/* ---- searching ------------------------------------------------------------------------------------------------- */

/* Where NEEDLE, not empty, is in TEXT from AT on; NULL if nowhere. */
static const char *find(struct span text, const char *at, struct span needle)
{
    return memmem(at, (size_t)(text.text + text.length - at), needle.text, needle.length);
}

static uint64_t count_occurrences(struct span text, struct span needle)
{
    uint64_t count = 0;

    for (const char *at = text.text; (at = find(text, at, needle)); at += needle.length)
        count++;
    return count;
}

/* ---- why not: the same text, differently spelled ----------------------------------------------------------------- */

/* How alike two texts must be. Each takes more differences away than the one before. */
enum likeness {
    LIKE_BUT_ENDS,        /* line ends may differ */
    LIKE_BUT_INDENTATION, /* so may the white space at the beginning of lines */
    LIKE_BUT_BLANKS       /* and at their end */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Cuts the next line off *TEXT, without its end. *ENDED: it had one. False: nothing is left. */
static bool take_line(struct span *text, struct span *line, bool *ended)
{
    size_t length = 0;

    if (text->length == 0)
        return false;
    while (length < text->length && text->text[length] != '\n' && text->text[length] != '\r')
        length++;
    *line = (struct span){text->text, length};
    *ended = length < text->length;
    if (*ended)
        length += text->text[length] == '\r' && length + 1 < text->length && text->text[length + 1] == '\n' ? 2 : 1;
    text->text += length;
    text->length -= length;
    return true;
}

/* TEXT without what may differ. But for LIKE_BUT_ENDS a newline stands before it, so that what is looked for begins
 * with a line. To be freed. */
static char *simplify(struct span text, enum likeness likeness, size_t *length)
{
    char *out = malloc(text.length + 2);
    struct span line;
    bool ended;
    size_t used = 0;

    if (!out)
        return NULL;
    if (likeness != LIKE_BUT_ENDS)
        out[used++] = '\n';
    while (take_line(&text, &line, &ended)) {
        for (; likeness >= LIKE_BUT_INDENTATION && line.length && is_blank(line.text[0]); line.length--)
            line.text++;
        while (likeness >= LIKE_BUT_BLANKS && line.length && is_blank(line.text[line.length - 1]))
            line.length--;
        memcpy(out + used, line.text, line.length);
        used += line.length;
        if (ended)
            out[used++] = '\n';
    }
    out[used] = '\0';
    *length = used;
    return out;
}

/* The line, from 1, at which something like NEEDLE begins in TEXT; 0: nowhere, or out of memory. */
static int64_t find_like(struct span text, struct span needle, enum likeness likeness)
{
    struct span in = {0};
    struct span wanted = {0};
    AUTO_FREE char *simple_text = simplify(text, likeness, &in.length);
    AUTO_FREE char *simple_needle = simplify(needle, likeness, &wanted.length);

    if (!simple_text || !simple_needle || strspn(simple_needle, " \t\n") == wanted.length)
        return 0;
    in.text = simple_text;
    wanted.text = simple_needle;
    const char *found = find(in, in.text, wanted);

    if (!found)
        return 0;
    struct line_scan scan;

    line_scan_init(&scan, 0);
    line_scan_feed(&scan, in.text, (size_t)(found - in.text));
    return scan.ends + 1;
}

/* What a line number copied along may be: blanks, digits, "." and digits, and then two blanks, a tab, "|", ":" or an
 * arrow, or the end of the line. Returns its length; 0: there is none. */
static size_t number_prefix(struct span line)
{
    static const char arrow[] = "\xe2\x86\x92";
    static const char digits[] = "0123456789.";
    size_t at = 0;

    while (at < line.length && is_blank(line.text[at]))
        at++;
    size_t first_digit = at;

    while (at < line.length && memchr(digits, line.text[at], sizeof(digits) - 1))
        at++;
    size_t left = line.length - at;

    if (at == first_digit || left == 0)
        return at == first_digit ? 0 : at;
    if (left >= 2 && line.text[at] == ' ' && line.text[at + 1] == ' ')
        return at + 2;
    if (line.text[at] == '\t' || line.text[at] == '|' || line.text[at] == ':')
        return at + 1;
    if (left >= sizeof(arrow) - 1 && memcmp(line.text + at, arrow, sizeof(arrow) - 1) == 0)
        return at + sizeof(arrow) - 1;
    return 0;
}

/* TEXT without the line numbers of its lines. To be freed; NULL if not every line has one, or out of memory. */
static char *without_numbers(struct span text, size_t *length)
{
    AUTO_FREE char *out = malloc(text.length + 1);
    struct span line;
    bool ended;
    size_t used = 0;

    if (!out)
        return NULL;
    while (take_line(&text, &line, &ended)) {
        size_t prefix = number_prefix(line);

        if (prefix == 0)
            return NULL;
        memcpy(out + used, line.text + prefix, line.length - prefix);
        used += line.length - prefix;
        if (ended)
            out[used++] = '\n';
    }
    out[used] = '\0';
    *length = used;
    return TAKE(out);
}

static int64_t find_without_numbers(struct span text, struct span old_string)
{
    struct span plain = {0};
    AUTO_FREE char *bytes = without_numbers(old_string, &plain.length);

    plain.text = bytes;
    return bytes ? find_like(text, plain, LIKE_BUT_INDENTATION) : 0;
}

/* Does TEXT end with a candidate but for its final newline? */
static bool lacks_final_newline(struct span text, const struct edit_candidates *candidates)
{
    for (size_t i = 0; i < candidates->count; i++) {
        struct span old_string = old_of(&candidates->items[i]);

        if (old_string.text[old_string.length - 1] != '\n')
            continue;
        old_string.length--;
        if (old_string.length && old_string.text[old_string.length - 1] == '\r')
            old_string.length--;
        if (old_string.length && old_string.length <= text.length &&
            memcmp(text.text + text.length - old_string.length, old_string.text, old_string.length) == 0)
            return true;
    }
    return false;
}

/* The line at which the first of several lines of OLD_STRING is, as a whole; 0: nowhere. */
static int64_t find_first_line(struct span text, struct span old_string)
{
    struct span rest = old_string;
    struct span line;
    bool ended;

    if (!take_line(&rest, &line, &ended) || rest.length == 0)
        return 0;
    line.length = (size_t)(rest.text - line.text); /* with its end */
    return find_like(text, line, LIKE_BUT_BLANKS);
}

/* A sentence on what keeps old_string from matching, and what to do. To be freed; NULL when out of memory. */
static char *diagnose(struct span text, struct span old_string, const struct edit_candidates *candidates)
{
    int64_t line;

    if (text.length == 0)
        return strdup("The file is empty: write it as a whole, or give an empty old_string.");
    if (lacks_final_newline(text, candidates))
        return strdup("The file ends without the final newline that old_string has: leave that newline out.");
    if ((line = find_like(text, old_string, LIKE_BUT_ENDS)))
        return text_format("The text at line %" PRId64 " has line ends of several kinds (some Windows, some Unix): "
                           "replace fewer lines at once.",
                           line);
    if ((line = find_without_numbers(text, old_string)))
        return text_format("The text is at line %" PRId64 " without the line numbers, which are not part of the file: "
                           "leave them out of old_string.",
                           line);
    if ((line = find_like(text, old_string, LIKE_BUT_INDENTATION)))
        return text_format(
            "The text exists with different indentation at line %" PRId64 ": copy its white space exactly.", line);
    if ((line = find_like(text, old_string, LIKE_BUT_BLANKS)))
        return text_format("The text exists with different white space at the ends of its lines at line %" PRId64
                           ": copy it exactly.",
                           line);
    if ((line = find_first_line(text, old_string)))
        return text_format("Its first line is at line %" PRId64
                           ", but what follows differs: read the file from there and copy the text exactly.",
                           line);
    return strdup("Read the file again and copy the text exactly.");
}

/* ---- errors ---------------------------------------------------------------------------------------------------- */

/* HINT, LINES: may be empty. */
static int not_found(const struct edit_wish *wish, const char *hint, struct sandlot_error *error)
{
    AUTO_FREE char *shown = excerpt_path(wish->shown);
    AUTO_FREE char *text = excerpt(wish->old_string, wish->old_length, EXCERPT_TEXT);

    if (!shown || !text)
        return error_no_memory(error);
    return error_set(error, SANDLOT_CODE_STRING_NOT_FOUND, "old_string not found in %s. %s It was: \"%s\"", shown, hint,
                     text);
}

static int several(const struct edit_wish *wish, uint64_t count, const char *lines, struct sandlot_error *error)
{
    AUTO_FREE char *shown = excerpt_path(wish->shown);

    if (!shown)
        return error_no_memory(error);
    return error_set(error, SANDLOT_CODE_MULTIPLE_OCCURRENCES,
                     "old_string occurs %" PRIu64 " times%s in %s, multiple occurrences: add surrounding lines to "
                     "make it unique or set replace_all",
                     count, lines, shown);
}

int edit_error(const struct edit_wish *wish, uint64_t count, struct sandlot_error *error)
{
    if (count == 0)
        return not_found(wish, "Read the file again and copy the text exactly.", error);
    return several(wish, count, "", error);
}

int edit_error_not_text(const struct edit_wish *wish, struct sandlot_error *error)
{
    AUTO_FREE char *shown = excerpt_path(wish->shown);

    return error_set(error, SANDLOT_CODE_NOT_A_TEXT_FILE,
                     "%s is not a text file: it holds bytes that are no UTF-8, and was left as it is. Change it with a "
                     "command.",
                     shown ? shown : "The file");
}

static int error_empty(const struct edit_wish *wish, struct sandlot_error *error)
{
    AUTO_FREE char *shown = excerpt_path(wish->shown);

    return error_set(error, SANDLOT_CODE_EMPTY_OLD_STRING,
                     "old_string is empty, but %s is not: give the text to be replaced, or write the file as a whole",
                     shown ? shown : "the file");
}

/* Occurrences that are not to be replaced, with the lines of the first of them. */
static int refuse_several(const struct edit_wish *wish, uint64_t count, struct span text, struct span old_string,
                          struct sandlot_error *error)
{
    AUTO_FREE char *lines = strdup(" (lines ");
    const char *seen = text.text;
    const char *at = text.text;
    struct line_scan scan;

    line_scan_init(&scan, 0);
    for (int i = 0; lines && i < LINES_TOLD && (at = find(text, at, old_string)); i++, at += old_string.length) {
        line_scan_feed(&scan, seen, (size_t)(at - seen));
        seen = at;
        if (!text_append(&lines, "%s%" PRId64, i ? ", " : "", scan.ends + 1))
            return error_no_memory(error);
    }
    if (!lines || !text_append(&lines, count > LINES_TOLD ? " and more)" : ")"))
        return error_no_memory(error);
    return several(wish, count, lines, error);
}

/* ---- the edit -------------------------------------------------------------------------------------------------- */

/* TEXT with COUNT occurrences replaced. To be freed; NULL when out of memory. */
static char *replace(struct span text, const struct edit_candidate *candidate, uint64_t count, size_t *length)
{
    struct span old_string = old_of(candidate);
    struct span new_string = new_of(candidate);
    size_t kept = text.length - (size_t)count * old_string.length;

    if (new_string.length && count > (SIZE_MAX - 1 - kept) / new_string.length)
        return NULL;
    *length = kept + (size_t)count * new_string.length;
    char *result = malloc(*length + 1);
    char *out = result;
    const char *at = text.text;

    if (!result)
        return NULL;
    for (; count; count--) {
        const char *found = find(text, at, old_string);

        out = mempcpy(out, at, (size_t)(found - at));
        if (new_string.length)
            out = mempcpy(out, new_string.text, new_string.length);
        at = found + old_string.length;
    }
    out = mempcpy(out, at, (size_t)(text.text + text.length - at));
    *out = '\0';
    return result;
}

static int apply_candidates(const struct edit_wish *wish, const struct edit_candidates *candidates, struct span text,
                            char **result, size_t *result_length, uint64_t *occurrences, struct sandlot_error *error)
{
    const struct edit_candidate *candidate = NULL;
    uint64_t count = 0;

    for (size_t i = 0; count == 0 && i < candidates->count; i++) {
        candidate = &candidates->items[i];
        count = count_occurrences(text, old_of(candidate));
    }
    if (count == 0 && text.length <= EDIT_DIAGNOSED) {
        AUTO_FREE char *hint = diagnose(text, old_of(&candidates->items[0]), candidates);

        return hint ? not_found(wish, hint, error) : error_no_memory(error);
    }
    if (count > 1 && !wish->replace_all && text.length <= EDIT_DIAGNOSED)
        return refuse_several(wish, count, text, old_of(candidate), error);
    if (count == 0 || (count > 1 && !wish->replace_all))
        return edit_error(wish, count, error);
    *occurrences = count;
    if (same(old_of(candidate), new_of(candidate)))
        return 0;
    *result = replace(text, candidate, count, result_length);
    return *result ? 0 : error_no_memory(error);
}

int edit_apply(const struct edit_wish *wish, const void *text, size_t length, char **result, size_t *result_length,
               uint64_t *occurrences, struct sandlot_error *error)
{
    struct span whole = {length ? text : "", length};

    *result = NULL;
    *result_length = 0;
    *occurrences = 0;
    if (!text_utf8_valid(whole.text, length))
        return edit_error_not_text(wish, error);
    if (wish->old_length == 0) {
        if (length)
            return error_empty(wish, error);
        if (wish->new_length == 0)
            return 0;
        *result = copy_of((struct span){wish->new_string, wish->new_length});
        *result_length = wish->new_length;
        *occurrences = 1;
        return *result ? 0 : error_no_memory(error);
    }
    struct edit_candidates candidates;
    int status = -1;

    if (edit_candidates_make(wish, &candidates))
        status = apply_candidates(wish, &candidates, whole, result, result_length, occurrences, error);
    else
        error_no_memory(error);
    edit_candidates_clear(&candidates);
    return status;
}

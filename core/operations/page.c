#include "operations/page.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "operations/excerpt.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

enum { NOTE_BYTES = 256, CHARACTER_BYTES = 4, SCAN_BLOCK = 1 << 16 };

/* ---- text or binary -------------------------------------------------------------------------------------------- */

static bool binary_by_suffix(const char *path)
{
    static const char *const suffixes[] = {"png", "jpeg", "jpg", "webp", "gif",  "heic", "heif", "mp4", "mpeg",
                                           "mov", "avi",  "flv", "mpg",  "webm", "wmv",  "3gpp", "mkv", "wav",
                                           "mp3", "aiff", "aac", "ogg",  "flac", "pdf",  "ppt",  "pptx"};
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');

    if (!dot || dot == name)
        return false;
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        if (strcasecmp(dot + 1, suffixes[i]) == 0)
            return true;
    }
    return false;
}

/* How many bytes a character that begins with FIRST has, if it is one. */
static size_t character_size(unsigned char first)
{
    return first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
}

/* Could the LENGTH bytes at BEGINNING, 1 to 3, be the first of a character? */
static bool begins_character(const unsigned char *beginning, size_t length)
{
    /* one of these fits as a second byte after any first byte that may stand in UTF-8 */
    static const unsigned char fillers[] = {0x80, 0xa0};
    size_t size = character_size(beginning[0]);

    for (size_t i = 0; i < sizeof(fillers) && size > length; i++) {
        unsigned char character[CHARACTER_BYTES];

        memset(character, fillers[i], sizeof(character));
        memcpy(character, beginning, length);
        if (text_utf8_valid(character, size))
            return true;
    }
    return false;
}

/* MORE: the file goes on after HEAD. */
static bool binary_by_content(const unsigned char *head, size_t length, bool more)
{
    if (length > PAGE_HEAD) {
        length = PAGE_HEAD;
        more = true;
    }
    if (text_utf8_valid(head, length))
        return false;
    for (size_t cut = 1; more && cut < CHARACTER_BYTES && cut <= length; cut++) {
        if (begins_character(head + length - cut, cut))
            return !text_utf8_valid(head, length - cut);
    }
    return true;
}

bool page_needs_lines(const struct page_wish *wish, const void *head, size_t head_length)
{
    return wish->limit > 0 && !binary_by_suffix(wish->path) && !binary_by_content(head, head_length, true);
}

/* ---- counting lines -------------------------------------------------------------------------------------------- */

void line_scan_init(struct line_scan *scan, int64_t wanted)
{
    *scan = (struct line_scan){.wanted = wanted, .found = wanted == 0};
}

#define LANES(byte) (UINT64_C(0x0101010101010101) * (byte))

static uint64_t load_word(const unsigned char *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof(word));
    return word;
}

/* A word with 1 in each byte in which WORD has BYTE, and else 0. */
static uint64_t lanes_with(uint64_t word, unsigned char byte)
{
    word ^= LANES(byte);
    return (~(((word & LANES(0x7f)) + LANES(0x7f)) | word) >> 7) & LANES(1);
}

static bool ends_line(unsigned char before, unsigned char byte)
{
    return byte == '\r' || (byte == '\n' && before != '\r');
}

/* The line ends in LENGTH bytes, eight at a time. RETURNS: there are "\r" among them; the byte before them is none. */
static int64_t count_ends(const unsigned char *bytes, size_t length, bool returns)
{
    int64_t count = length ? ends_line(0, bytes[0]) : 0;
    size_t at = 1;

    while (at + sizeof(uint64_t) <= length) {
        uint64_t lanes = 0;

        for (int i = 0; i < UINT8_MAX && at + sizeof(uint64_t) <= length; i++, at += sizeof(uint64_t)) {
            uint64_t word = load_word(bytes + at);
            uint64_t newlines = lanes_with(word, '\n');

            if (returns)
                newlines = (newlines & ~lanes_with(load_word(bytes + at - 1), '\r')) | lanes_with(word, '\r');
            lanes += newlines;
        }
        for (; lanes; lanes >>= 8)
            count += (int64_t)(lanes & UINT8_MAX);
    }
    for (; at < length; at++)
        count += ends_line(bytes[at - 1], bytes[at]);
    return count;
}

static void scan_byte(struct line_scan *scan, unsigned char byte)
{
    bool rest_of_end = scan->after_return && byte == '\n';

    scan->after_return = false;
    if (!rest_of_end) {
        if (!scan->found && scan->ends == scan->wanted) {
            scan->found = true;
            scan->found_at = scan->bytes;
        }
        scan->after_return = byte == '\r';
        scan->in_line = byte != '\n' && byte != '\r';
        scan->ends += !scan->in_line;
    }
    scan->bytes++;
}

/* A block after a byte that was no "\r", and with nothing to be found at its first byte. */
static void scan_block(struct line_scan *scan, const unsigned char *block, size_t length)
{
    int64_t count = count_ends(block, length, memchr(block, '\r', length));

    if (!scan->found && scan->ends + count >= scan->wanted) {
        for (size_t i = 0; i < length; i++)
            scan_byte(scan, block[i]);
        return;
    }
    scan->ends += count;
    scan->bytes += length;
    scan->after_return = block[length - 1] == '\r';
    scan->in_line = block[length - 1] != '\n' && !scan->after_return;
}

void line_scan_feed(struct line_scan *scan, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;

    while (length) {
        size_t part = length < SCAN_BLOCK ? length : SCAN_BLOCK;

        if (scan->after_return || (!scan->found && scan->ends == scan->wanted)) {
            part = 1;
            scan_byte(scan, at[0]);
        } else {
            scan_block(scan, at, part);
        }
        at += part;
        length -= part;
    }
}

int64_t line_scan_total(const struct line_scan *scan)
{
    return scan->ends + scan->in_line;
}

/* ---- one line after the other ---------------------------------------------------------------------------------- */

struct cursor {
    const char *at;
    const char *end;
    const char *newline; /* the next "\n" from AT on, or END */
};

struct line {
    const char *text;
    size_t length;
    bool ended; /* by a line end */
};

static void cursor_init(struct cursor *cursor, const char *bytes, size_t length)
{
    /* the newline before AT is a stale one, to be looked for again */
    *cursor = (struct cursor){.at = bytes, .end = bytes + length, .newline = NULL};
}

static bool next_line(struct cursor *cursor, struct line *line)
{
    const char *at = cursor->at;
    size_t left = (size_t)(cursor->end - at);

    if (left == 0)
        return false;
    if (!cursor->newline || cursor->newline < at) {
        const char *newline = memchr(at, '\n', left);

        cursor->newline = newline ? newline : cursor->end;
    }
    const char *end = memchr(at, '\r', (size_t)(cursor->newline - at));

    if (!end)
        end = cursor->newline;
    *line = (struct line){.text = at, .length = (size_t)(end - at), .ended = end < cursor->end};
    cursor->at = end + line->ended;
    if (line->ended && *end == '\r' && cursor->at < cursor->end && *cursor->at == '\n')
        cursor->at++;
    return true;
}

/* ---- the page -------------------------------------------------------------------------------------------------- */

/* The content of a page as it grows. */
struct content {
    char *bytes;
    size_t length;
    size_t limit;
    bool lossy;
};

/* Adds as much of LINE as there is room for, in whole characters; returns how many bytes of it that are. */
static size_t add_line(struct content *content, const struct line *line)
{
    static const char replacement[] = "\xef\xbf\xbd";
    size_t room = content->limit - content->length;
    size_t at = 0;

    if (line->length <= room && text_utf8_valid(line->text, line->length)) {
        memcpy(content->bytes + content->length, line->text, line->length);
        content->length += line->length;
        return line->length;
    }
    while (at < line->length) {
        size_t size = character_size((unsigned char)line->text[at]);
        bool valid = size <= line->length - at && text_utf8_valid(line->text + at, size);
        size_t shown = valid ? size : sizeof(replacement) - 1;

        if (shown > content->limit - content->length)
            break;
        memcpy(content->bytes + content->length, valid ? line->text + at : replacement, shown);
        content->length += shown;
        content->lossy |= !valid;
        at += valid ? size : 1;
    }
    return at;
}

/* What one pass over the lines came to. */
struct progress {
    int64_t lines;   /* that were taken whole, or the cut one if it is the first */
    bool cut;        /* a line did not fit */
    uint64_t missed; /* bytes left out of the first line */
    bool at_end;     /* no line follows the last one taken */
};

/* Takes up to LIMIT lines from CURSOR on. WINDOW_ENDS: after the window there is nothing more. */
static struct progress take_lines(struct content *content, struct cursor cursor, int64_t limit, bool window_ends)
{
    struct progress progress = {0};
    struct line line;

    while (progress.lines < limit && next_line(&cursor, &line)) {
        bool whole = line.ended || window_ends;

        if (progress.lines > 0 && content->length == content->limit) {
            progress.cut = true;
            break;
        }
        if (progress.lines > 0)
            content->bytes[content->length++] = '\n';
        size_t taken = add_line(content, &line);

        if (taken < line.length || !whole) {
            progress.cut = true;
            if (progress.lines == 0) {
                progress.missed = line.length - taken;
                progress.lines = 1;
                progress.at_end = window_ends && cursor.at == cursor.end;
            }
            break;
        }
        progress.lines++;
    }
    if (!progress.cut)
        progress.at_end = window_ends && cursor.at == cursor.end;
    content->bytes[content->length] = '\0';
    return progress;
}

const char *page_line_truncated_word(const struct sandlot_page *page)
{
    return page->line_truncated >= PAGE_WINDOW - SANDLOT_PAGE_BYTES ? "at least " : "";
}

static void add_note(struct content *content, const struct sandlot_page *page)
{
    char *at = content->bytes + content->length;
    size_t room = SANDLOT_PAGE_BYTES + 1 - content->length;
    int written;

    if (page->line_truncated)
        written = snprintf(at, room,
                           "\n[Cut: line %" PRId64 " alone is longer than a page of %d bytes; %s%" PRIu64
                           " bytes of it are left out, which no offset reaches.]",
                           page->end_line, SANDLOT_PAGE_BYTES, page_line_truncated_word(page), page->line_truncated);
    else
        written = snprintf(at, room,
                           "\n[Cut: a page has at most %d bytes. Line %" PRId64 " does not fit: what is shown of it is "
                           "not whole. Go on with offset %" PRId64 ".]",
                           SANDLOT_PAGE_BYTES, page->end_line + 1, page->next_offset);
    content->length += (size_t)written;
}

/* Puts where the page is in the file into PAGE. */
static void set_position(struct sandlot_page *page, const struct progress *progress, int64_t offset, int64_t total)
{
    page->start_line = offset + 1;
    page->end_line = offset + progress->lines;
    if (progress->at_end)
        total = page->end_line;
    else if (total < page->end_line)
        total = -1; /* the file has grown since it was counted */
    page->total_lines = total;
    page->next_offset = progress->at_end || total == page->end_line ? -1 : page->end_line;
    page->truncated = progress->cut;
    page->line_truncated = progress->missed;
}

/* The most that the content of a page can be made of LENGTH bytes, from here to the end of the file: three for each
 * that is no UTF-8. */
static size_t most_content(size_t length)
{
    return length < SANDLOT_PAGE_BYTES / 3 ? length * 3 : SANDLOT_PAGE_BYTES;
}

static int fill_lines(struct cursor cursor, const struct page_wish *wish, bool window_ends, int64_t total,
                      struct sandlot_page *page, struct sandlot_error *error)
{
    char *bytes = malloc((window_ends ? most_content((size_t)(cursor.end - cursor.at)) : SANDLOT_PAGE_BYTES) + 1);
    struct content content = {.bytes = bytes, .limit = SANDLOT_PAGE_BYTES};

    if (!bytes)
        return error_no_memory(error);
    struct progress progress = take_lines(&content, cursor, wish->limit, window_ends);

    if (progress.cut) {
        /* once more, with room for the note */
        content = (struct content){.bytes = bytes, .limit = SANDLOT_PAGE_BYTES - NOTE_BYTES};
        progress = take_lines(&content, cursor, wish->limit, window_ends);
    }
    set_position(page, &progress, wish->offset, total);
    page->lossy = content.lossy;
    if (progress.cut)
        add_note(&content, page);
    char *fitting = realloc(bytes, content.length + 1);

    page->content = fitting ? fitting : bytes;
    page->content_length = content.length;
    return 0;
}

/* ---- the order of checks --------------------------------------------------------------------------------------- */

static int fill_binary(const struct page_wish *wish, const struct page_source *source, struct sandlot_page *page,
                       struct sandlot_error *error)
{
    if (!source->whole || source->head_length > SANDLOT_PAGE_BYTES) {
        AUTO_FREE char *shown = excerpt_path(wish->shown);

        return error_set(error, SANDLOT_CODE_TOO_LARGE,
                         "'%s' is no text and larger than %d bytes, the most that is read of such a file. Download it, "
                         "or look at it with a command.",
                         shown ? shown : "", SANDLOT_PAGE_BYTES);
    }
    page->content = malloc(source->head_length + 1);
    if (!page->content)
        return error_no_memory(error);
    memcpy(page->content, source->head, source->head_length);
    page->content[source->head_length] = '\0';
    page->content_length = source->head_length;
    page->binary = true;
    return 0;
}

static int fill_nothing(struct sandlot_page *page, struct sandlot_error *error)
{
    page->content = strdup("");
    return page->content ? 0 : error_no_memory(error);
}

static int beyond_the_end(const struct page_wish *wish, int64_t total, struct sandlot_error *error)
{
    AUTO_FREE char *shown = excerpt_path(wish->shown);

    return error_set(error, SANDLOT_CODE_OFFSET_OUT_OF_RANGE,
                     "Offset %" PRId64 " is beyond the end of '%s', which has %" PRId64
                     " line%s: the last line is at offset %" PRId64 ".",
                     wish->offset, shown ? shown : "", total, total == 1 ? "" : "s", total > 0 ? total - 1 : 0);
}

int page_fill(const struct page_wish *wish, const struct page_source *source, struct sandlot_page *page,
              struct sandlot_error *error)
{
    page->total_lines = -1;
    page->next_offset = -1;
    if (source->whole && source->head_length == 0) {
        page->empty = true;
        return fill_nothing(page, error);
    }
    if (binary_by_suffix(wish->path) || binary_by_content(source->head, source->head_length, !source->whole))
        return fill_binary(wish, source, page, error);
    if (wish->limit <= 0) {
        page->no_lines_requested = true;
        return fill_nothing(page, error);
    }
    struct line_scan scan;
    bool ends = source->whole || source->window_ends;

    line_scan_init(&scan, wish->offset - source->first_line);
    line_scan_feed(&scan, source->window, source->window_length);
    int64_t total = ends ? source->first_line + line_scan_total(&scan) : source->total_lines;

    /* a route that ran into the end of the file has counted on the way and has no window */
    if (ends && source->window_length == 0 && source->total_lines >= 0)
        total = source->total_lines;
    if (!scan.found || scan.found_at >= source->window_length)
        return beyond_the_end(wish, total < 0 ? wish->offset : total, error);
    struct cursor cursor;

    cursor_init(&cursor, (const char *)source->window + scan.found_at, source->window_length - scan.found_at);
    return fill_lines(cursor, wish, ends, total, page, error);
}

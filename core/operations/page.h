/*
 * From the bytes of a file to the page of lines that was asked for (struct sandlot_page). Both routes use it: a route
 * finds the bytes, this decides what they are and where the page ends.
 */
#ifndef SANDLOT_OPERATIONS_PAGE_H
#define SANDLOT_OPERATIONS_PAGE_H

#include <sandlot/sandlot.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PAGE_HEAD = 8192,               /* bytes that decide whether a file is text */
    PAGE_WHOLE = 1 << 20,           /* a file up to this size is looked at as a whole */
    PAGE_WINDOW = (1 << 20) + 4096, /* enough bytes from its first line on for any page */
    PAGE_COUNTED = 8 << 20          /* the lines of a file up to this size are counted */
};

/* What was asked for: offset and limit are not negative. */
struct page_wish {
    const char *path;  /* whose suffix may say "binary" */
    const char *shown; /* for messages */
    int64_t offset;
    int64_t limit;
};

/* What a route knows of a file. For one of at most PAGE_WHOLE bytes head and window are all of it. Where a larger one
 * has no line first_line the window is empty, window_ends true and total_lines given. */
struct page_source {
    const void *head; /* its first bytes, PAGE_HEAD or more, or all */
    size_t head_length;
    const void *window; /* from the beginning of line first_line on: PAGE_WINDOW bytes or up to the end */
    size_t window_length;
    int64_t first_line;  /* from 0 */
    bool whole;          /* head and window are the whole file */
    bool window_ends;    /* the window reaches the end of the file */
    int64_t total_lines; /* -1: not counted, of a file larger than PAGE_COUNTED */
};

/* Must a route of a file larger than PAGE_WHOLE look for lines at all, or is it binary (then page_fill says that it is
 * too large), or were none asked for? */
bool page_needs_lines(const struct page_wish *wish, const void *head, size_t head_length);

/* Fills PAGE in the order of checks: empty, binary by suffix, binary by content, limit 0, offset beyond the end, page.
 * Of a line longer than the window, what lies beyond the window is not counted into line_truncated. 0, or -1 with
 * too_large or offset_out_of_range. */
int page_fill(const struct page_wish *wish, const struct page_source *source, struct sandlot_page *page,
              struct sandlot_error *error);

/* "at least " before page->line_truncated if the line goes on beyond the window, where nobody looks; else "". */
const char *page_line_truncated_word(const struct sandlot_page *page);

/* Counts lines in a stream, and remembers where line WANTED (from 0) begins. */
struct line_scan {
    int64_t wanted;
    uint64_t bytes;    /* fed so far */
    int64_t ends;      /* line ends so far */
    uint64_t found_at; /* byte at which the wanted line begins; valid if found */
    bool found;
    bool after_return; /* the last byte was "\r" */
    bool in_line;      /* bytes came after the last line end */
};

/* WANTED 0 begins at byte 0 and is found at once. */
void line_scan_init(struct line_scan *scan, int64_t wanted);
void line_scan_feed(struct line_scan *scan, const void *bytes, size_t length);

/* The number of lines once everything was fed. */
int64_t line_scan_total(const struct line_scan *scan);

#endif

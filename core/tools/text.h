/*
 * From data to the text that an agent reads. Each function returns text for the caller to free, NULL when out of
 * memory: valid UTF-8, never empty, at most MAXIMUM bytes (less than TEXT_LEAST counts as TEXT_LEAST) and a NUL after
 * its *LENGTH bytes, for it may hold NULs itself (LENGTH may be NULL). There is no newline at its end. What was left
 * out is said at the very end.
 */
#ifndef SANDLOT_TOOLS_TEXT_H
#define SANDLOT_TOOLS_TEXT_H

#include "tools/buffer.h"

#include <sandlot/sandlot.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEXT_LEAST = 2048, TEXT_DEFAULT = 40000 };

/*
 * The lines of PAGE with their numbers; REQUEST is what was asked for. *NEXT_OFFSET (may be NULL) is where to go on,
 * -1: nowhere; where MAXIMUM cuts it lies before that of the page. A binary page becomes a sentence about its size and
 * kind.
 */
char *text_of_page(const struct sandlot_read *request, const struct sandlot_page *page, size_t maximum,
                   int64_t *next_offset, size_t *length);

/* The sentence about a binary file of LENGTH bytes that is not shown. */
char *text_of_binary(const char *path, const void *content, size_t length);

/* Paths that were gathered. Zero is empty. */
struct text_entries {
    struct buffer lines;
};

/* Takes one entry; CONTEXT is a struct text_entries. For sandlot_list_directory and sandlot_find_files. False when out
 * of memory, which text_of_entries then tells too. */
bool text_entries_add(void *context, const struct sandlot_file_entry *entry);

/* One path per line. TRUNCATED: the search itself was incomplete. WHAT_IF_NONE: "No files found". *CUT (may be NULL):
 * some of them did not fit. */
char *text_of_entries(struct text_entries *entries, bool truncated, const char *what_if_none, size_t maximum,
                      bool *cut);
void text_entries_clear(struct text_entries *entries);

enum text_grep_mode { TEXT_GREP_FILES, TEXT_GREP_CONTENT, TEXT_GREP_COUNT };

/* Matches that were gathered. Zero, with MODE, is empty. */
struct text_matches {
    enum text_grep_mode mode; /* to be set before the first match is taken */
    struct buffer lines;      /* as the mode wants them */
    char *path;               /* the file at hand, as it is shown */
    char *raw_path;           /* the same as it came */
    uint64_t count;           /* its matches; in TEXT_GREP_COUNT not yet in lines */
};

/* Takes one match; CONTEXT is a struct text_matches. For sandlot_search_files, whose order is by file. False when out
 * of memory. */
bool text_matches_add(void *context, const struct sandlot_match *match);

/* PATTERN is what was looked for: if nothing was found and it looks like a regular expression the text says how it was
 * taken. */
char *text_of_matches(struct text_matches *matches, bool truncated, const char *pattern, size_t maximum, bool *cut,
                      size_t *length);
void text_matches_clear(struct text_matches *matches);

/* PATH as it stands in a sentence: on one line, without control characters, cut if it is very long. */
char *text_path(const char *path);

char *text_of_write(const char *path);
char *text_of_edit(const char *path, uint64_t occurrences);
char *text_of_remove(const char *path);

/* What a command printed in a form fit for reading, which may be empty: without escape sequences and control
 * characters but newlines, tabs and NULs, of a line that was written over after a carriage return only its last state,
 * U+FFFD for what is no UTF-8. */
char *text_of_output(const void *output, size_t length, size_t *clean_length);

/* "[Command failed with exit code 1]" or the like, after advice on a line of its own if it timed out; "" if the code is
 * unknown. */
char *text_of_status(const struct sandlot_result *result);

/* Where text of which SHOWN bytes fit is cut: a quarter of that is its head, three quarters its tail, at line ends
 * where there are some near. */
struct text_gap {
    size_t head;             /* bytes shown before the gap */
    size_t tail;             /* first byte shown after it */
    uint64_t lines_before;   /* whole lines in the head */
    uint64_t lines_left_out; /* newlines in the gap */
    size_t bytes_left_out;
    bool whole_lines; /* it begins and ends at line ends */
};

/* False if TEXT, LENGTH bytes, fits into SHOWN bytes. */
bool text_gap_find(const char *text, size_t length, size_t shown, struct text_gap *gap);

/*
 * The output (of text_of_output), with what GAP (NULL: nothing) leaves out, then NOTE (NULL: none) and STATUS, each on
 * a line of its own.
 */
char *text_of_result(const char *output, size_t output_length, const struct text_gap *gap, const char *note,
                     const char *status, size_t *length);

#endif

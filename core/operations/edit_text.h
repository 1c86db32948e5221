/* Replacing literal text in a text: which spelling of the line ends matches, how often, and why not. */
#ifndef SANDLOT_OPERATIONS_EDIT_TEXT_H
#define SANDLOT_OPERATIONS_EDIT_TEXT_H

#include <sandlot/sandlot.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edit_wish {
    const char *shown; /* the path, for messages */
    const char *old_string;
    size_t old_length;
    const char *new_string;
    size_t new_length;
    bool replace_all;
};

struct edit_candidate {
    char *old_string;
    size_t old_length;
    char *new_string;
    size_t new_length;
};

enum { EDIT_CANDIDATES = 3, EDIT_DIAGNOSED = 1 << 20 };

/* As sent; with "\r\n" for every line end; with "\n" for every line end. Those that repeat an earlier one are left out.
 */
struct edit_candidates {
    struct edit_candidate items[EDIT_CANDIDATES];
    size_t count;
};

/* False when out of memory. To be cleared in any case. */
bool edit_candidates_make(const struct edit_wish *wish, struct edit_candidates *candidates);
void edit_candidates_clear(struct edit_candidates *candidates);

/*
 * Does the whole edit on TEXT, LENGTH bytes. *RESULT is the new text, to be freed, and NULL if nothing is to be written
 * (old and new are the same). -1 with not_a_text_file, empty_old_string, string_not_found or
 * multiple_occurrences. Messages say what a model can do: the lines of the occurrences, or what keeps the text from
 * matching (a final newline, indentation, line numbers copied along); for these a text of more than EDIT_DIAGNOSED
 * bytes is not looked through.
 */
int edit_apply(const struct edit_wish *wish, const void *text, size_t length, char **result, size_t *result_length,
               uint64_t *occurrences, struct sandlot_error *error);

/* The errors of edit_apply where the text is too long to be diagnosed: COUNT occurrences, not replaced. -1. */
int edit_error(const struct edit_wish *wish, uint64_t count, struct sandlot_error *error);
int edit_error_not_text(const struct edit_wish *wish, struct sandlot_error *error);

#endif

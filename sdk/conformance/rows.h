/*
 * The table of edge cases of the operations on files. One row is one call and what it answers as a text, so that "came"
 * can be laid beside "expected":
 *
 *   read     "[1-3 of 3] a\nb\nc", with "next 3", "cut", "lossy" in the brackets where they apply; "[empty]", "[no
 * lines]",
 *            "[binary] bytes"
 *   write    "ok"
 *   edit     the number of occurrences
 *   list     names with "/" behind folders and "@" behind links, "|" between
 *   search   "path:line:text", "|" between; "..." at the end: there is more
 *   find     paths, "|" between
 *   remove   "ok"
 *   inside   what the command prints
 *
 * Paths are those below the working directory. NUL is shown as "\0". A failure is "!code"; "!code~word" wants the word
 * in the message too. An expected text that ends with "..." is only a beginning. Rows that want permission_denied are
 * left out where commands run as somebody whom no permission stops.
 */
#ifndef SANDLOT_CONFORMANCE_ROWS_H
#define SANDLOT_CONFORMANCE_ROWS_H

#include <limits.h>
#include <stddef.h>

enum operation {
    OPERATION_READ,
    OPERATION_WRITE,
    OPERATION_EDIT,
    OPERATION_EDIT_ALL,
    OPERATION_LIST,
    OPERATION_SEARCH,
    OPERATION_FIND,
    OPERATION_REMOVE,
    OPERATION_INSIDE
};

#define NO_LIMIT LONG_MIN

struct row {
    const char *name;
    enum operation operation;
    const char *path;   /* NULL: the working directory */
    const char *first;  /* content, old text, pattern or command */
    const char *second; /* new text; search: only in files of this pattern */
    long offset;        /* read */
    long limit;         /* read; search: matches at most, 0 for all */
    const char *expected;
};

/* A set of rows with what has to be there before. */
struct row_set {
    const char *name;
    const char *preparation; /* a command: POSIX sh and small tools alone */
    const struct row *rows;
    size_t count;
};

extern const struct row_set row_sets[];
extern const size_t row_set_count;

#endif

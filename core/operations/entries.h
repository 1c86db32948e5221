/* What listings and searches gather. Strings lie in blocks that live as long as the list. */
#ifndef SANDLOT_OPERATIONS_ENTRIES_H
#define SANDLOT_OPERATIONS_ENTRIES_H

#include <sandlot/sandlot.h>
#include <stdbool.h>
#include <stddef.h>

enum { ENTRIES_FOUND_MAXIMUM = 10000 };
#define MATCHES_BYTES_MAXIMUM (UINT64_C(64) << 20) /* of one answer of grep */

struct text_block;

/* Zero is empty. */
struct entries {
    struct sandlot_file_entry *items; /* each with its size set */
    size_t count;
    size_t capacity;
    struct text_block *blocks;
};

/* Adds DIRECTORY "/" NAME (no doubled slash; DIRECTORY NULL: NAME is the whole path). The rest of the entry is zero and
 * to be filled in. NULL when out of memory. */
struct sandlot_file_entry *entries_add(struct entries *entries, const char *directory, const char *name,
                                       size_t name_length);

/* By the bytes of their paths. */
void entries_sort(struct entries *entries);
void entries_clear(struct entries *entries);

/* Zero is empty. */
struct matches {
    struct sandlot_match *items;
    size_t count;
    size_t capacity;
    uint64_t bytes; /* of all texts and paths, and of the items themselves */
    struct text_block *blocks;
};

/* Keeps a copy of PATH for many matches_add. NULL when out of memory. */
const char *matches_path(struct matches *matches, const char *path);

/* Adds a match in PATH, which is from matches_path. TEXT is the raw line with or without its end: "\n" and a "\r"
 * before it are taken off, what is no UTF-8 becomes U+FFFD. False when out of memory. */
bool matches_add(struct matches *matches, const char *path, int64_t line, const char *text, size_t length);

/* By the bytes of their paths, then by line. */
void matches_sort(struct matches *matches);

/* Moves everything of FROM to the end of TO. False when out of memory; both are then still valid. */
bool matches_join(struct matches *to, struct matches *from);
void matches_clear(struct matches *matches);

#endif

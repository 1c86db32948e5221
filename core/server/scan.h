/*
 * Reads JSON in place. A message is checked once as a whole; what is then taken from it are pieces of its text, so that
 * an id keeps its spelling, a big argument is not copied into a tree and back, and numbers lose nothing.
 */
#ifndef SANDLOT_SERVER_SCAN_H
#define SANDLOT_SERVER_SCAN_H

#include <stdbool.h>
#include <stddef.h>

enum { SCAN_DEEPEST = 128 };

/* One value as it stands in the text, without blanks around it. TEXT is NULL where there is none. */
struct piece {
    const char *text;
    size_t length;
};

enum piece_kind { PIECE_NONE, PIECE_OBJECT, PIECE_ARRAY, PIECE_STRING, PIECE_NUMBER, PIECE_WORD };

/* Is TEXT one JSON value, of proper grammar and no deeper than SCAN_DEEPEST? Then it is *VALUE. UTF-8 is not looked at.
 */
bool scan_document(const char *text, size_t length, struct piece *value);

/* What follows takes pieces of a document that passed. */

enum piece_kind piece_kind(struct piece piece);

/* null, or nothing at all. */
bool piece_absent(struct piece piece);

/* A number without fraction and exponent. */
bool piece_is_integer(struct piece piece);

/* The member NAME of an object, the last one if there are several; a piece without text if there is none, or if OBJECT
 * is no object. */
struct piece piece_member(struct piece object, const char *name);

/* The element behind *POSITION (0: the first) of an array; false at its end. */
bool piece_next(struct piece array, size_t *position, struct piece *element);

/* Is it the string TEXT? */
bool piece_equals(struct piece piece, const char *text);

/* The bytes of a string, with NUL appended; what cannot be UTF-8 (half of a surrogate pair) is U+FFFD. *LENGTH may be
 * NULL. To be freed; NULL when out of memory or no string. */
char *piece_string(struct piece piece, size_t *length);

/* A copy of the text, with NUL appended; to be freed. */
char *piece_copy(struct piece piece);

#endif

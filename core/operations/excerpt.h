/* A piece of somebody's text inside a message: short, on one line. */
#ifndef SANDLOT_OPERATIONS_EXCERPT_H
#define SANDLOT_OPERATIONS_EXCERPT_H

#include <stddef.h>

enum { EXCERPT_CHARACTERS = 200, EXCERPT_PATH = 500, EXCERPT_TEXT = 800 };

/* The first EXCERPT_CHARACTERS of TEXT, but no more than BYTES, control characters made visible, "..." at the end if
 * anything is left out. To be freed; NULL when out of memory. */
char *excerpt(const char *text, size_t length, size_t bytes);

/* The same of a path. */
char *excerpt_path(const char *path);

#endif

/* Finding a text in memory, fast. */
#ifndef SANDLOT_NATIVE_NEEDLE_H
#define SANDLOT_NATIVE_NEEDLE_H

#include <stddef.h>
#include <stdint.h>

/* Where to look first: the two bytes of the text that are least to be expected. */
struct needle {
    const char *text;
    size_t length;
    size_t rare;
    size_t second; /* the same as rare in a text of one byte */
};

/* The needle for TEXT, LENGTH bytes, which must live as long as it. */
struct needle needle_make(const char *text, size_t length);

/* The first place from AT on where the text stands whole before END; NULL if there is none. */
const char *needle_find(const struct needle *needle, const char *at, const char *end);

/* The number of line ends from AT to END. */
int64_t count_lines(const char *at, const char *end);

#endif

/* Text and growing memory, for the other files of this room. The prefix keeps the names out of a vendor's way. */
#ifndef SANDLOT_SDK_TEXT_H
#define SANDLOT_SDK_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Bytes that grow up to a limit. Zero at the beginning but for the limit. After the first byte there is always a NUL
 * behind. */
struct sdk_buffer {
    char *bytes;
    size_t length;
    size_t capacity;
    size_t limit;
};

enum sdk_growth { SDK_GROWN, SDK_TOO_LONG, SDK_NO_MEMORY };

enum sdk_growth sdk_buffer_add(struct sdk_buffer *buffer, const void *bytes, size_t length);
void sdk_buffer_clear(struct sdk_buffer *buffer);

/* The bytes, "" if there are none, handed over with a NUL; NULL when out of memory. */
char *sdk_buffer_take(struct sdk_buffer *buffer);

char *sdk_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Closes a STREAM of open_memstream(), or NULL: the TEXT it wrote, handed over if it is WHOLE; else, and when out of
 * memory, NULL. */
char *sdk_text_end(FILE *stream, char **text, bool whole);

/* Copies TEXT as one line: control characters become blanks, what is not UTF-8 becomes "?", runs of blanks one; cut at
 * CAPACITY with
 * "..." and never inside a character. */
void sdk_one_line(char *line, size_t capacity, const char *text, size_t length);

bool sdk_utf8_valid(const char *text, size_t length);

/* Percent-encodes everything but letters, digits and "-._~"; to be freed. */
char *sdk_percent_encode(const char *text);

#endif

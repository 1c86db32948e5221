/* Text: formatting, quoting, UTF-8, nearest names. Functions that return char * return memory for the caller to free,
 * or NULL when there is none. */
#ifndef SANDLOT_BASE_TEXT_H
#define SANDLOT_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *text_format_v(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

/* TEXT as one word for a POSIX shell: as it is if it is harmless, else in single quotes. */
char *text_shell_quote(const char *text);

/* WORDS quoted and joined by blanks; one word alone stays as it is, a command line (cli contract, exec). */
char *text_shell_join(char *const *words, size_t count);

bool text_utf8_valid(const void *bytes, size_t length);

/* BYTES with everything that is not UTF-8 replaced by U+FFFD; NUL bytes stay. *RESULT_LENGTH may be NULL. */
char *text_utf8_replace(const void *bytes, size_t length, size_t *result_length);

/* TEXT with newlines as "\n", other control characters (C0, DEL, C1) as \xNN, and invisible ones that change the order
 * of others or pass unseen (U+202E, U+200B and the like) as \uNNNN: fit for one line on a terminal. */
char *text_visible(const char *text);

/* Whether NAME is one of NAMES. */
bool text_is_one_of(const char *name, const char *const *names, size_t count);

/* The one of NAMES nearest to NAME by edit distance (with transpositions), NULL if none is near enough to suggest. */
const char *text_nearest(const char *name, const char *const *names, size_t count);

/* Appends to a string in *TEXT (NULL: empty) by reallocation; false when out of memory, *TEXT is then unchanged. */
bool text_append(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A whole number in decimal with optional sign, nothing before or after it. */
bool text_parse_integer(const char *text, int64_t *number);

/* How many values LENGTH bytes of JSON without comments have, or more. In memory each takes up to 900 bytes, however
 * short it is: what strangers send is counted before it is read. */
size_t text_json_values(const char *text, size_t length);

/* Is VALUE one of the words of LIST, which blanks separate? */
bool text_has_word(const char *list, const char *word);

#endif

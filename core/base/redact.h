/*
 * Keeps secret values out of everything that a person or a log sees. The list of values is global: a
 * process has one set of secrets, and every message that leaves it goes through here.
 */
#ifndef SANDLOT_BASE_REDACT_H
#define SANDLOT_BASE_REDACT_H

#include <stdbool.h>
#include <stddef.h>

/* From now on VALUE (NULL: nothing), without blanks at its end, is replaced wherever it occurs, and so is each longer
 * line of it. Values under 4 bytes are too common to be hidden and are ignored. */
void redact_add(const char *value);

/* A copy of TEXT with "***" in place of every secret and of those that overlap; for the caller to free, NULL when out
 * of memory. */
char *redact(const char *text);

/* The same for LENGTH bytes that may hold NUL; the copy has a NUL behind *COPY_LENGTH bytes. */
char *redact_bytes(const void *bytes, size_t length, size_t *copy_length);

/* Is there anything to be hidden? */
bool redact_knows_any(void);

/* Forgets all values; for tests. */
void redact_clear(void);

#endif

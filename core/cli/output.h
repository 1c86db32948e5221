/* Standard output: results, and nothing else. A write that fails is remembered, and decides the exit status. */
#ifndef SANDLOT_CLI_OUTPUT_H
#define SANDLOT_CLI_OUTPUT_H

#include "cli/options.h"

#include <json-c/json.h>
#include <sandlot/sandlot.h>
#include <stdbool.h>
#include <stddef.h>

/* Writes all of it, or returns false: the reader is gone, the disk full, or a signal arrived while the reader was slow.
 */
bool output_write(const void *bytes, size_t length);

bool output_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints TEXT, of which somebody else may have made up a part, as one line without what could drive a terminal.
 * NULL counts as out of memory. */
bool output_line(const char *text);

/* How JSON is written: in one line, and no "\/". */
#define OUTPUT_JSON (JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)

/* Prints OBJECT in one line. Takes the caller's reference. NULL counts as out of memory. */
bool output_json(struct json_object *object);

/* STATUS, unless something could not be written: then 141 where the reader of a pipe went away, else 1 with the reason
 * on standard error. */
int output_status(int status);

/* Has a write failed? */
bool output_failed(void);

/* Prints an error as the command line's contract has it, and returns its exit status. */
int report_error(const struct options *options, const struct sandlot_error *error);

/* The same for an OBJECT that holds more: the line for people, and "error" and "message" into OBJECT. */
void report_error_in(struct json_object *object, const struct sandlot_error *error);

/* "error" and "message" into OBJECT, where people have been told already. */
void json_add_error(struct json_object *object, const struct sandlot_error *error);

/* A string that is valid UTF-8 whatever BYTES hold; null for NULL. */
struct json_object *json_text(const char *text);
struct json_object *json_bytes(const void *bytes, size_t length);

/* "2026-08-01T12:00:00Z", to be freed; NULL for 0, the unknown time. */
char *time_text(int64_t utc_ms);

/* How long ago that was: "5 s", "12 min", "3 h", "2 d"; likewise. */
char *since_text(int64_t created_at_ms);

/* A table for people: columns padded to the widest cell, text made harmless for terminals; on one, what is too wide in
 * the last column goes on below. */
struct table {
    size_t columns;
    char **cells; /* row by row */
    size_t count;
};

/* Adds one row of TABLE->columns texts; NULL is shown as "-". */
void table_add(struct table *table, const char *const *cells);

/* Prints and frees it. */
void table_print(struct table *table);

/* Gives up its cells, as printing it does. */
void table_clear(struct table *table);

#endif

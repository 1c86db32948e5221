/* YAML as documents of json-c, for files that people and tools write. */
#ifndef SANDLOT_KUBERNETES_YAML_DOCUMENT_H
#define SANDLOT_KUBERNETES_YAML_DOCUMENT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Reads the first document of TEXT, to be released with json_object_put. Plain `true`, `false` and `null` are what they
 * say, every other scalar is a text: also numbers, as they are written. NULL: REASON says why, with the line; never
 * what stands there, which may be secret.
 */
struct json_object *yaml_read(const char *text, size_t length, char *reason, size_t capacity);

/* Is VALUE, NULL also, true in any of the words that kubectl knows for it: true, yes, on, y? */
bool yaml_is_true(struct json_object *value);

#endif

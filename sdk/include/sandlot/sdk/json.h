/*
 * sandlot/sdk/json.h - JSON for providers: documents are built by path, and read by path with errors that say what is
 * wrong where.
 *
 * PATHS     "name", "sandbox.network.hosts[2].port", "[0].id", "" for the document itself. A key with a dot or a
 * bracket stands in quotes: "labels.\"a.b/c\"". In building, "[]" appends to an array.
 *
 * BUILDING  A builder remembers that something failed, so that only the end is to be checked:
 *
 *   struct json_builder body = {0};
 *   json_set_string(&body, "name", name);
 *   json_set_integer(&body, "resources.memory_mb", 512);
 *   json_set_string(&body, "command[]", "sleep");
 *   json_set_string(&body, "command[]", "infinity");
 *   size_t length;
 *   char *text = json_finish(&body, &length); {"name":"x","resources":{"memory_mb":512},"command":["sleep","infinity"]}
 *
 * READING   Answers of a vendor are not to be trusted in their shape:
 *
 *   struct json_error error;
 *   struct json_object *answer = json_read_document(response.body, response.length, &error);
 *   const char *id;
 *   if (!answer || !json_read_string(answer, "sandbox.id", &id, &error))
 *       status = json_fail(call, "Acme's answer to creating a sandbox", &error);
 *   ...
 *   json_object_put(answer);
 *
 * Documents are json-c's objects: all its functions work on them. Everything that is read belongs to the document. A
 * document or builder belongs to one thread at a time.
 */
#ifndef SANDLOT_SDK_JSON_H
#define SANDLOT_SDK_JSON_H

#include <sandlot/provider.h>

#include <json-c/json.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- building --------------------------------------------------------------------------------------------------- */

/* Zero at the beginning. */
struct json_builder {
    struct json_object *root;
    bool failed;
};

/* Each sets the value at PATH; objects and arrays on the way are made. A NULL text sets nothing: what is absent stays
 * out. Text that is not UTF-8, a path that leads through something else, and lack of memory make the builder fail. */
void json_set_string(struct json_builder *builder, const char *path, const char *text);
void json_set_bytes(struct json_builder *builder, const char *path, const char *text, size_t length);
void json_set_integer(struct json_builder *builder, const char *path, int64_t number);
void json_set_number(struct json_builder *builder, const char *path, double number); /* not NaN, not infinite */
void json_set_boolean(struct json_builder *builder, const char *path, bool value);
void json_set_null(struct json_builder *builder, const char *path);
void json_set_object(struct json_builder *builder, const char *path); /* an empty one, if there is none yet */
void json_set_array(struct json_builder *builder, const char *path);  /* likewise */

/* Takes VALUE over, also when it fails; NULL makes the builder fail. */
void json_set_value(struct json_builder *builder, const char *path, struct json_object *value);

/* Takes over what BUILT has built, which is cleared; if that failed, so does BUILDER: for elements of an array. */
void json_set_built(struct json_builder *builder, const char *path, struct json_builder *built);

/* Sets member KEY, whatever stands in it, of the object at PATH. For labels and environment variables. */
void json_set_member(struct json_builder *builder, const char *path, const char *key, const char *text);

/* Parses TEXT, such as a parameter of kind array or table, and sets it; NULL sets nothing. */
void json_set_text(struct json_builder *builder, const char *path, const char *text);

/* The document as text without blanks, to be freed, and clears the builder; "{}" if nothing was set. NULL if
 * something failed. LENGTH may be NULL. */
char *json_finish(struct json_builder *builder, size_t *length);

/* ---- reading ---------------------------------------------------------------------------------------------------- */

/* What was wrong, as the rest of a sentence: "has a number at `sandbox.id` where a string was expected". */
struct json_error {
    char text[256];
};

/*
 * Parses one JSON document: in UTF-8, at most 64 levels deep, with nothing after it, whose values take at most about
 * 128 MiB of memory. To be released with json_object_put. NULL if it is none; *ERROR (which may be NULL, here and
 * below) then says why and where. A document that is just null is an error too.
 */
struct json_object *json_read_document(const char *text, size_t length, struct json_error *error);

/* Releases *DOCUMENT, which may be NULL: AUTO_DOCUMENT of cleanup.h. */
void json_release(struct json_object **document);

/* Each reads the value at PATH into *VALUE and is false, with *VALUE untouched, if it is absent, null or of another
 * type. */
bool json_read_string(struct json_object *document, const char *path, const char **value, struct json_error *error);
bool json_read_integer(struct json_object *document, const char *path, int64_t *value, struct json_error *error);
bool json_read_number(struct json_object *document, const char *path, double *value, struct json_error *error);
bool json_read_boolean(struct json_object *document, const char *path, bool *value, struct json_error *error);
bool json_read_object(struct json_object *document, const char *path, struct json_object **value,
                      struct json_error *error);
bool json_read_array(struct json_object *document, const char *path, struct json_object **value,
                     struct json_error *error);

/* Each is true too, with *VALUE untouched, if the value is absent or null. */
bool json_find_string(struct json_object *document, const char *path, const char **value, struct json_error *error);
bool json_find_integer(struct json_object *document, const char *path, int64_t *value, struct json_error *error);
bool json_find_number(struct json_object *document, const char *path, double *value, struct json_error *error);
bool json_find_boolean(struct json_object *document, const char *path, bool *value, struct json_error *error);
bool json_find_object(struct json_object *document, const char *path, struct json_object **value,
                      struct json_error *error);
bool json_find_array(struct json_object *document, const char *path, struct json_object **value,
                     struct json_error *error);

/* Does the string at PATH say TEXT? Not if it is absent, or DOCUMENT is NULL. */
bool json_says(struct json_object *document, const char *path, const char *text);

/* The first element of ARRAY of which json_says(element, PATH, TEXT) is true; NULL: none, or ARRAY is NULL. */
struct json_object *json_find_element(struct json_object *array, const char *path, const char *text);

/* Writes the string that is MEMBER of OBJECT to SINK, with every byte that it has, and returns what SINK does. What is
 * absent, empty or no string is SANDLOT_OK: nothing is written. BYTES, unless NULL, grows by their number. */
enum sandlot_status json_write_member(struct json_object *object, const char *member, const struct sandlot_sink *sink,
                                      uint64_t *bytes);

/* Fails the call with SANDLOT_INTERNAL and the sentence "WHAT <error>; ...". */
enum sandlot_status json_fail(struct sandlot_call *call, const char *what, const struct json_error *error);

#ifdef __cplusplus
}
#endif

#endif

#include <sandlot/sdk/json.h>

#include "text.h"

#include <math.h>
#include <string.h>

enum { DEEPEST = 64, LONGEST_KEY = 255, MOST_ELEMENTS = 100000, MOST_MEMORY = 128 << 20 };

/* One step of a path. */
struct step {
    enum { STEP_KEY, STEP_INDEX, STEP_APPEND, STEP_END, STEP_BAD } kind;
    char key[LONGEST_KEY + 1];
    size_t index;
};

/* ---- paths ------------------------------------------------------------------------------------------------------ */

static const char *read_quoted(const char *at, struct step *step)
{
    size_t length = 0;

    for (at++; *at && *at != '"'; at++) {
        if (*at == '\\' && at[1])
            at++;
        if (length == LONGEST_KEY)
            return NULL;
        step->key[length++] = *at;
    }
    step->key[length] = '\0';
    return *at == '"' ? at + 1 : NULL;
}

static const char *read_plain(const char *at, struct step *step)
{
    size_t length = strcspn(at, ".[");

    if (length == 0 || length > LONGEST_KEY)
        return NULL;
    memcpy(step->key, at, length);
    step->key[length] = '\0';
    return at + length;
}

static const char *read_index(const char *at, struct step *step)
{
    at++;
    step->kind = *at == ']' ? STEP_APPEND : STEP_INDEX;
    step->index = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        step->index = step->index * 10 + (size_t)(*at - '0');
        if (step->index > MOST_ELEMENTS)
            return NULL;
    }
    return *at == ']' ? at + 1 : NULL;
}

/* Reads the step of PATH at AT; returns where the next one begins. */
static const char *next_step(const char *path, const char *at, struct step *step)
{
    step->kind = STEP_END;
    if (*at == '\0')
        return at;
    step->kind = STEP_KEY;
    if (*at == '[')
        at = read_index(at, step);
    else if (at == path)
        at = *at == '"' ? read_quoted(at, step) : read_plain(at, step);
    else if (*at == '.')
        at = at[1] == '"' ? read_quoted(at + 1, step) : read_plain(at + 1, step);
    else
        at = NULL;
    if (!at)
        step->kind = STEP_BAD;
    return at;
}

/* ---- building --------------------------------------------------------------------------------------------------- */

static struct json_object *get(struct json_object *parent, const struct step *step)
{
    if (step->kind == STEP_KEY)
        return json_object_object_get(parent, step->key);
    return step->kind == STEP_INDEX ? json_object_array_get_idx(parent, step->index) : NULL;
}

/* Puts VALUE, which it takes over, into PARENT. */
static bool put(struct json_object *parent, const struct step *step, struct json_object *value)
{
    int result = -1;

    if (step->kind == STEP_KEY)
        result = json_object_object_add(parent, step->key, value);
    else if (step->kind == STEP_APPEND)
        result = json_object_array_add(parent, value);
    else if (step->index <= json_object_array_length(parent)) /* no holes */
        result = json_object_array_put_idx(parent, step->index, value);
    if (result != 0)
        json_object_put(value);
    return result == 0;
}

static bool fits(const struct json_object *parent, const struct step *step)
{
    return json_object_is_type(parent, step->kind == STEP_KEY ? json_type_object : json_type_array);
}

static struct json_object *new_container(const struct step *step)
{
    return step->kind == STEP_KEY ? json_object_new_object() : json_object_new_array();
}

/* Follows PATH to what holds its last step, making what is missing. */
static struct json_object *make_way(struct json_builder *builder, const char *path, struct step *last)
{
    const char *at = next_step(path, path, last);

    if (last->kind == STEP_END || last->kind == STEP_BAD)
        return NULL;
    if (!builder->root)
        builder->root = new_container(last);
    struct json_object *parent = builder->root;

    while (parent && fits(parent, last)) {
        struct step next;

        at = next_step(path, at, &next);
        if (next.kind == STEP_END)
            return parent;
        struct json_object *child = next.kind == STEP_BAD ? NULL : get(parent, last);

        if (!child && next.kind != STEP_BAD && (child = new_container(&next)) && !put(parent, last, child))
            child = NULL;
        parent = child;
        *last = next;
    }
    return NULL;
}

void json_set_value(struct json_builder *builder, const char *path, struct json_object *value)
{
    struct step last;
    struct json_object *parent = !value || builder->failed ? NULL : make_way(builder, path, &last);

    if (!parent) {
        builder->failed = true;
        json_object_put(value);
    } else if (!put(parent, &last, value)) {
        builder->failed = true;
    }
}

void json_set_built(struct json_builder *builder, const char *path, struct json_builder *built)
{
    builder->failed |= built->failed;
    json_set_value(builder, path, built->root);
    *built = (struct json_builder){0};
}

void json_set_bytes(struct json_builder *builder, const char *path, const char *text, size_t length)
{
    bool valid = text && length <= INT32_MAX && sdk_utf8_valid(text, length);

    if (text)
        json_set_value(builder, path, valid ? json_object_new_string_len(text, (int)length) : NULL);
}

void json_set_string(struct json_builder *builder, const char *path, const char *text)
{
    json_set_bytes(builder, path, text, text ? strlen(text) : 0);
}

void json_set_integer(struct json_builder *builder, const char *path, int64_t number)
{
    json_set_value(builder, path, json_object_new_int64(number));
}

void json_set_number(struct json_builder *builder, const char *path, double number)
{
    json_set_value(builder, path, isfinite(number) ? json_object_new_double(number) : NULL);
}

void json_set_boolean(struct json_builder *builder, const char *path, bool value)
{
    json_set_value(builder, path, json_object_new_boolean(value));
}

void json_set_null(struct json_builder *builder, const char *path)
{
    struct step last;
    struct json_object *parent = builder->failed ? NULL : make_way(builder, path, &last);

    if (!parent || !put(parent, &last, NULL))
        builder->failed = true;
}

static void set_container(struct json_builder *builder, const char *path, bool object)
{
    struct json_object *value = object ? json_object_new_object() : json_object_new_array();

    if (*path) {
        struct step last;
        struct json_object *parent = builder->failed ? NULL : make_way(builder, path, &last);

        if (parent && json_object_is_type(get(parent, &last), object ? json_type_object : json_type_array))
            json_object_put(value);
        else
            json_set_value(builder, path, value);
        return;
    }
    if (!builder->root) {
        builder->root = value;
        builder->failed = builder->failed || !value;
        return;
    }
    builder->failed = builder->failed || json_object_get_type(value) != json_object_get_type(builder->root);
    json_object_put(value);
}

void json_set_object(struct json_builder *builder, const char *path)
{
    set_container(builder, path, true);
}

void json_set_array(struct json_builder *builder, const char *path)
{
    set_container(builder, path, false);
}

void json_set_member(struct json_builder *builder, const char *path, const char *key, const char *text)
{
    struct step last;

    if (!text)
        return;
    json_set_object(builder, path);
    struct json_object *object = *path == '\0' ? builder->root : NULL;
    struct json_object *parent = builder->failed || object ? NULL : make_way(builder, path, &last);
    size_t length = strlen(text);

    if (parent)
        object = get(parent, &last);
    bool valid = object && length <= INT32_MAX && sdk_utf8_valid(text, length) && sdk_utf8_valid(key, strlen(key));
    struct json_object *value = valid ? json_object_new_string_len(text, (int)length) : NULL;

    if (!value || json_object_object_add(object, key, value) != 0) {
        builder->failed = true;
        json_object_put(value);
    }
}

void json_set_text(struct json_builder *builder, const char *path, const char *text)
{
    if (text)
        json_set_value(builder, path, json_read_document(text, strlen(text), NULL));
}

/* ROOT as text, which is ROOT's; NULL when out of memory. What json-c has no memory for it leaves out without a word;
 * but the second time it needs less, and then says more. */
static const char *write_document(struct json_object *root, size_t *length)
{
    static const int flags = JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE;
    size_t before = 0;

    json_object_to_json_string_length(root, flags, &before);
    const char *text = json_object_to_json_string_length(root, flags, length);

    return text && *length == before ? text : NULL;
}

char *json_finish(struct json_builder *builder, size_t *length)
{
    struct json_object *root = builder->failed || builder->root ? builder->root : json_object_new_object();
    size_t size = 0;
    const char *text = builder->failed || !root ? NULL : write_document(root, &size);
    char *copy = text ? strndup(text, size) : NULL;

    json_object_put(root);
    *builder = (struct json_builder){0};
    if (length)
        *length = copy ? size : 0;
    return copy;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static bool is_only_blanks(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!strchr(" \t\r\n", text[i]) || text[i] == '\0')
            return false;
    return true;
}

static void no_document(struct json_error *error, size_t length, struct json_tokener *tokener)
{
    enum json_tokener_error reason = json_tokener_get_error(tokener);

    if (reason == json_tokener_continue || reason == json_tokener_error_parse_eof)
        snprintf(error->text, sizeof(error->text), "is JSON that ends early, after %zu bytes", length);
    else
        snprintf(error->text, sizeof(error->text), "is not JSON: %s at byte %zu", json_tokener_error_desc(reason),
                 json_tokener_get_parse_end(tokener));
}

/* About what json-c takes for the values of TEXT: 16 MiB of "{}," are 4 GiB in memory, while honest answers take some
 * eight times their length. */
static size_t memory_of(const char *text, size_t length)
{
    size_t bytes = 0;
    char quote = '\0'; /* json-c takes ' around names, strict or not */

    for (size_t i = 0; i < length; i++)
        if (quote ? text[i] == quote : text[i] == '"' || text[i] == '\'')
            quote = quote ? '\0' : text[i];
        else if (quote)
            i += text[i] == '\\';
        else
            bytes += text[i] == '{' ? 900 : text[i] == '[' || text[i] == ',' ? 160 : 0;
    return bytes;
}

struct json_object *json_read_document(const char *text, size_t length, struct json_error *error)
{
    struct json_tokener *tokener = json_tokener_new_ex(DEEPEST);
    bool cut = length > 0 && memchr(text, '\0', length); /* json-c would stop there, whatever follows */

    error = error ? error : &(struct json_error){{0}};
    const bool large = length > INT32_MAX || memory_of(text, length) > MOST_MEMORY;

    if (!tokener || large || cut || is_only_blanks(text, length)) {
        snprintf(error->text, sizeof(error->text), "%s",
                 !tokener ? "does not fit into memory"
                 : large  ? "has more values than fit into 128 MiB of memory"
                 : cut    ? "is not JSON: there is a NUL in it"
                          : "is empty where JSON was expected");
        if (tokener)
            json_tokener_free(tokener);
        return NULL;
    }
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    struct json_object *document = json_tokener_parse_ex(tokener, text, (int)length);

    /* A number at the end might go on: only the NUL says that it does not. */
    if (json_tokener_get_error(tokener) == json_tokener_continue)
        document = json_tokener_parse_ex(tokener, "", 1);
    if (json_tokener_get_error(tokener) != json_tokener_success) {
        no_document(error, length, tokener);
        json_object_put(document);
        document = NULL;
    } else if (!document) {
        snprintf(error->text, sizeof(error->text), "is null");
    }
    json_tokener_free(tokener);
    return document;
}

void json_release(struct json_object **document)
{
    json_object_put(*document);
}

static const char *type_name(const struct json_object *value)
{
    switch (json_object_get_type(value)) {
    case json_type_null:
        return "null";
    case json_type_boolean:
        return "a boolean";
    case json_type_double:
    case json_type_int:
        return "a number";
    case json_type_object:
        return "an object";
    case json_type_array:
        return "an array";
    case json_type_string:
        return "a string";
    }
    return "something unknown";
}

enum found { FOUND, ABSENT, WRONG };

static enum found wrong_type(struct json_error *error, const struct json_object *value, const char *path, size_t length,
                             const char *wanted)
{
    snprintf(error->text, sizeof(error->text), "has %s at `%.*s` where %s was expected", type_name(value), (int)length,
             length ? path : "", wanted);
    if (length == 0)
        snprintf(error->text, sizeof(error->text), "is %s where %s was expected", type_name(value), wanted);
    return WRONG;
}

static enum found absent(struct json_error *error, const char *path, size_t length)
{
    snprintf(error->text, sizeof(error->text), "has no `%.*s`", (int)length, path);
    return ABSENT;
}

/* Follows PATH to a value that is not null. */
static enum found find(struct json_object *document, const char *path, struct json_object **value,
                       struct json_error *error)
{
    struct step step;
    const char *at = path;

    *value = document;
    for (;;) {
        size_t before = (size_t)(at - path);

        at = next_step(path, at, &step);
        if (step.kind == STEP_BAD || step.kind == STEP_APPEND) {
            snprintf(error->text, sizeof(error->text), "cannot be asked for `%s`, which is no path", path);
            return WRONG;
        }
        if (!*value)
            return absent(error, path, before);
        if (step.kind == STEP_END)
            return FOUND;
        if (!fits(*value, &step))
            return wrong_type(error, *value, path, before, step.kind == STEP_KEY ? "an object" : "an array");
        *value = get(*value, &step);
    }
}

static bool conclude(enum found found, bool optional)
{
    return found == FOUND || (found == ABSENT && optional);
}

static enum found find_typed(struct json_object *document, const char *path, enum json_type type, const char *wanted,
                             struct json_object **value, struct json_error *error)
{
    enum found found = find(document, path, value, error);

    if (found == FOUND && !json_object_is_type(*value, type))
        return wrong_type(error, *value, path, strlen(path), wanted);
    return found;
}

static enum found take_string(struct json_object *document, const char *path, const char **text,
                              struct json_error *error)
{
    struct json_object *value;
    enum found found = find_typed(document, path, json_type_string, "a string", &value, error);

    if (found != FOUND)
        return found;
    const char *string = json_object_get_string(value);

    if (strlen(string) != (size_t)json_object_get_string_len(value)) {
        snprintf(error->text, sizeof(error->text), "has a NUL inside the text at `%s`", path);
        return WRONG;
    }
    *text = string;
    return FOUND;
}

static enum found take_integer(struct json_object *document, const char *path, int64_t *number,
                               struct json_error *error)
{
    struct json_object *value;
    enum found found = find(document, path, &value, error);

    if (found != FOUND)
        return found;
    double real = json_object_is_type(value, json_type_double) ? json_object_get_double(value) : NAN;

    if (real == floor(real) && fabs(real) < 9007199254740992.0) { /* 1e3 and 5.0 are whole numbers too */
        *number = (int64_t)real;
        return FOUND;
    }
    bool whole = json_object_is_type(value, json_type_int);

    /* json-c keeps numbers up to 2^64 and gives INT64_MAX for those above. */
    if (!whole || (json_object_get_int64(value) == INT64_MAX && json_object_get_uint64(value) > INT64_MAX))
        return wrong_type(error, value, path, strlen(path), "a whole number of 64 bits");
    *number = json_object_get_int64(value);
    return FOUND;
}

static enum found take_number(struct json_object *document, const char *path, double *number, struct json_error *error)
{
    struct json_object *value;
    enum found found = find(document, path, &value, error);

    if (found != FOUND)
        return found;
    bool numeric = json_object_is_type(value, json_type_double) || json_object_is_type(value, json_type_int);

    if (!numeric || !isfinite(json_object_get_double(value))) /* json-c takes NaN and Infinity, which are no JSON */
        return wrong_type(error, value, path, strlen(path), "a finite number");
    *number = json_object_get_double(value);
    return FOUND;
}

static enum found take_boolean(struct json_object *document, const char *path, bool *truth, struct json_error *error)
{
    struct json_object *value;
    enum found found = find_typed(document, path, json_type_boolean, "a boolean", &value, error);

    if (found == FOUND)
        *truth = json_object_get_boolean(value);
    return found;
}

static enum found take_object(struct json_object *document, const char *path, struct json_object **object,
                              struct json_error *error)
{
    struct json_object *value;
    enum found found = find_typed(document, path, json_type_object, "an object", &value, error);

    if (found == FOUND)
        *object = value;
    return found;
}

static enum found take_array(struct json_object *document, const char *path, struct json_object **array,
                             struct json_error *error)
{
    struct json_object *value;
    enum found found = find_typed(document, path, json_type_array, "an array", &value, error);

    if (found == FOUND)
        *array = value;
    return found;
}

/* The two public functions of each type differ only in whether the value may be absent. */
#define READERS(name, type)                                                                                     \
    bool json_read_##name(struct json_object *document, const char *path, type value, struct json_error *error) \
    {                                                                                                           \
        return conclude(take_##name(document, path, value, error ? error : &(struct json_error){{0}}), false);  \
    }                                                                                                           \
    bool json_find_##name(struct json_object *document, const char *path, type value, struct json_error *error) \
    {                                                                                                           \
        return conclude(take_##name(document, path, value, error ? error : &(struct json_error){{0}}), true);   \
    }

READERS(string, const char **)
READERS(integer, int64_t *)
READERS(number, double *)
READERS(boolean, bool *)
READERS(object, struct json_object **)
READERS(array, struct json_object **)

bool json_says(struct json_object *document, const char *path, const char *text)
{
    const char *said = NULL;

    return document && json_read_string(document, path, &said, NULL) && strcmp(said, text) == 0;
}

struct json_object *json_find_element(struct json_object *array, const char *path, const char *text)
{
    for (size_t i = 0; array && i < json_object_array_length(array); i++)
        if (json_says(json_object_array_get_idx(array, i), path, text))
            return json_object_array_get_idx(array, i);
    return NULL;
}

enum sandlot_status json_write_member(struct json_object *object, const char *member, const struct sandlot_sink *sink,
                                      uint64_t *bytes)
{
    struct json_object *text = NULL;

    json_object_object_get_ex(object, member, &text);
    size_t length = json_object_is_type(text, json_type_string) ? (size_t)json_object_get_string_len(text) : 0;

    if (bytes)
        *bytes += length;
    return length > 0 ? sink->write(sink, json_object_get_string(text), length) : SANDLOT_OK;
}

enum sandlot_status json_fail(struct sandlot_call *call, const char *what, const struct json_error *error)
{
    return sandlot_fail(call, SANDLOT_INTERNAL, "%s %s; report it to the author of the provider", what, error->text);
}

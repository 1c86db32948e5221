#include "config/value.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "base/redact.h"
#include "base/text.h"

#include <limits.h>
#include <locale.h>
#include <string.h>

struct value value_absent(void)
{
    return (struct value){.integer = SANDLOT_ABSENT_INTEGER, .number = (double)NAN};
}

void value_clear(struct value *value)
{
    free(value->text);
    *value = value_absent();
}

/* Takes TEXT over; NULL, for want of memory, is no value. */
static bool set_text(struct value *value, char *text)
{
    value->text = text;
    value->present = text != NULL;
    return value->present;
}

/* "" is an explicit "none": present, so that the default does not come back, but without text. */
static bool set_path(struct value *value, const char *path, const char *folder)
{
    if (*path)
        return set_text(value, path_absolute(path, folder));
    value->present = true;
    return true;
}

static bool set_integer(struct value *value, int64_t integer)
{
    value->integer = integer;
    value->present = integer != SANDLOT_ABSENT_INTEGER;
    return value->present;
}

static bool set_number(struct value *value, double number)
{
    value->number = number;
    value->present = isfinite(number);
    return value->present;
}

bool value_json_can_say(struct json_object *json)
{
    if (json_object_is_type(json, json_type_double))
        return isfinite(json_object_get_double(json));
    for (size_t i = 0; json_object_is_type(json, json_type_array) && i < json_object_array_length(json); i++)
        if (!value_json_can_say(json_object_array_get_idx(json, i)))
            return false;
    if (!json_object_is_type(json, json_type_object))
        return true;
    json_object_object_foreach(json, key, member)
    {
        (void)key;
        if (!value_json_can_say(member))
            return false;
    }
    return true;
}

static bool set_json(struct value *value, struct json_object *json)
{
    if (!json || !value_json_can_say(json))
        return false;
    const char *text = json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);

    return text && set_text(value, strdup(text));
}

/* The whole of TEXT as one JSON value of TYPE; NULL if it is none. */
static struct json_object *parse_json(const char *text, enum json_type type)
{
    size_t length = strlen(text);
    struct json_tokener *tokener = length < INT_MAX ? json_tokener_new() : NULL;

    if (!tokener)
        return NULL;
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    struct json_object *json = json_tokener_parse_ex(tokener, text, (int)length);
    bool whole = json_tokener_get_error(tokener) == json_tokener_success &&
                 json_tokener_get_parse_end(tokener) == length && json_object_is_type(json, type);

    json_tokener_free(tokener);
    if (whole)
        return json;
    json_object_put(json);
    return NULL;
}

/* "a, b" as a JSON array of strings; NULL if an item is empty. */
static struct json_object *split_list(const char *text)
{
    static const char blanks[] = " \t";
    AUTO_JSON struct json_object *array = json_object_new_array();

    if (!array || !text[strspn(text, blanks)])
        return TAKE(array);
    for (;;) {
        text += strspn(text, blanks);
        size_t length = strcspn(text, ",");
        size_t trimmed = length;

        while (trimmed > 0 && strchr(blanks, text[trimmed - 1]))
            trimmed--;
        if (trimmed == 0 || json_object_array_add(array, json_object_new_string_len(text, (int)trimmed)) < 0)
            return NULL;
        if (!text[length])
            return TAKE(array);
        text += length + 1;
    }
}

static struct json_object *parse_array(const char *text)
{
    return text[strspn(text, " \t")] == '[' ? parse_json(text, json_type_array) : split_list(text);
}

static bool parse_number(const char *text, double *number)
{
    if (!*text || text[strspn(text, "0123456789+-.eE")])
        return false;
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0); /* the program's own may want a comma */
    char *end;

    if (!plain)
        return false;
    *number = strtod_l(text, &end, plain);
    freelocale(plain);
    return end != text && !*end;
}

static bool parse_boolean(const char *text, bool *truth)
{
    *truth = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    return *truth || strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
}

bool value_from_text(enum sandlot_parameter_kind kind, const char *text, const char *folder, struct value *value)
{
    AUTO_JSON struct json_object *json = NULL;

    if (!text_utf8_valid(text, strlen(text)))
        return false;
    switch (kind) {
    case SANDLOT_PARAMETER_string:
        return set_text(value, strdup(text));
    case SANDLOT_PARAMETER_path:
        return set_path(value, text, folder);
    case SANDLOT_PARAMETER_integer:
        return text_parse_integer(text, &value->integer) && set_integer(value, value->integer);
    case SANDLOT_PARAMETER_float:
        return parse_number(text, &value->number) && set_number(value, value->number);
    case SANDLOT_PARAMETER_boolean:
        value->present = parse_boolean(text, &value->truth);
        return value->present;
    case SANDLOT_PARAMETER_array:
        json = parse_array(text);
        return set_json(value, json);
    case SANDLOT_PARAMETER_table:
        json = parse_json(text, json_type_object);
        return set_json(value, json);
    }
    return false;
}

bool value_default_fits(enum sandlot_parameter_kind kind, const char *text)
{
    struct value value = value_absent();
    const bool fits = !*text || value_from_text(kind, text, "/", &value);

    value_clear(&value);
    return fits;
}

const char *value_plain_text(struct json_object *json)
{
    const char *text = json_object_is_type(json, json_type_string) ? json_object_get_string(json) : NULL;

    return text && strlen(text) == (size_t)json_object_get_string_len(json) ? text : NULL;
}

bool value_from_json(enum sandlot_parameter_kind kind, struct json_object *json, const char *folder,
                     struct value *value)
{
    const char *text = value_plain_text(json);
    enum json_type type = json_object_get_type(json);

    switch (kind) {
    case SANDLOT_PARAMETER_string:
        return text && set_text(value, strdup(text));
    case SANDLOT_PARAMETER_path:
        return text && set_path(value, text, folder);
    case SANDLOT_PARAMETER_integer:
        return type == json_type_int && set_integer(value, json_object_get_int64(json));
    case SANDLOT_PARAMETER_float:
        return (type == json_type_double || type == json_type_int) && set_number(value, json_object_get_double(json));
    case SANDLOT_PARAMETER_boolean:
        value->truth = type == json_type_boolean && json_object_get_boolean(json);
        value->present = type == json_type_boolean;
        return value->present;
    case SANDLOT_PARAMETER_array:
        return type == json_type_array && set_json(value, json);
    case SANDLOT_PARAMETER_table:
        return type == json_type_object && set_json(value, json);
    }
    return false;
}

void value_hide_json(struct json_object *json)
{
    if (json_object_is_type(json, json_type_object)) {
        json_object_object_foreach(json, key, member)
        {
            (void)key;
            value_hide_json(member);
        }
    } else if (json_object_is_type(json, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(json); i++)
            value_hide_json(json_object_array_get_idx(json, i));
    } else if (json && !json_object_is_type(json, json_type_boolean)) {
        redact_add(json_object_get_string(json));
    }
}

void value_hide_text(enum sandlot_parameter_kind kind, const char *text)
{
    AUTO_JSON struct json_object *json = NULL;

    if (kind == SANDLOT_PARAMETER_boolean)
        return; /* "true" is no secret, and hiding it would garble every message */
    redact_add(text);
    if (kind == SANDLOT_PARAMETER_array)
        json = parse_array(text);
    else if (kind == SANDLOT_PARAMETER_table)
        json = parse_json(text, json_type_object);
    value_hide_json(json);
}

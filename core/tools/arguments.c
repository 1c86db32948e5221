#include "tools/arguments.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "tools/buffer.h"

#include <json-c/json.h>
#include <limits.h>
#include <math.h>
#include <string.h>

enum { NESTING = 256, SHOWN_NAME = 60, MOST_VALUES = 10000 };

/* Names that other tools have for ours. */
static const struct {
    const char *name;
    const char *ours;
} aliases[] = {
    {"path", "file_path"},
    {"file_path", "path"},
    {"cmd", "command"},
    {"working_directory", "cwd"},
    {"workdir", "cwd"},
    {"max_results", "max_count"},
    {"run_in_background", "background"},
};

/* Names of other tools for what ours do not do, and what to do then. Without advice they are accepted and ignored. */
static const struct {
    enum tool_kind tool;
    const char *name;
    const char *advice;
} foreign[] = {
    {TOOL_GREP, "-i", "use execute with grep"},
    {TOOL_GREP, "-A", "use execute with grep"},
    {TOOL_GREP, "-B", "use execute with grep"},
    {TOOL_GREP, "-C", "use execute with grep"},
    {TOOL_GREP, "-n", "use execute with grep; output_mode content has line numbers too"},
    {TOOL_GREP, "context", "use execute with grep"},
    {TOOL_GREP, "head_limit", "use execute with grep, or set max_count"},
    {TOOL_GREP, "type", "use execute with grep, or set glob"},
    {TOOL_GREP, "multiline", "use execute with grep"},
    {TOOL_EXECUTE, "description", NULL},
    {TOOL_EDIT_FILE, "edits", "call edit_file once for each replacement, with old_string and new_string"},
    {TOOL_EDIT_FILE, "dryRun", "edit_file always writes; see the file with read_file"},
    {TOOL_READ_FILE, "head", "set limit to the number of lines"},
    {TOOL_READ_FILE, "tail", "set offset to the number of lines to skip, or use execute with tail"},
    {TOOL_READ_FILE, "pages", "see the text of a PDF with execute: pdftotext FILE -"},
};

static size_t property_count(const struct tool *tool)
{
    size_t count = 0;

    while (tool->properties[count].name)
        count++;
    return count;
}

static const struct tool_property *find_property(const struct tool *tool, const char *name)
{
    for (const struct tool_property *property = tool->properties; property->name; property++)
        if (strcmp(property->name, name) == 0)
            return property;
    return NULL;
}

static bool is_null(struct json_object *object, const char *name)
{
    struct json_object *value;

    return !json_object_object_get_ex(object, name, &value) || !value;
}

/* The property that the argument NAME stands for: its own, or by another name one that is not given. */
static const struct tool_property *property_of(const struct tool *tool, struct json_object *object, const char *name)
{
    const struct tool_property *property = find_property(tool, name);

    for (size_t i = 0; !property && i < sizeof(aliases) / sizeof(aliases[0]); i++)
        if (strcmp(aliases[i].name, name) == 0 && is_null(object, aliases[i].ours))
            property = find_property(tool, aliases[i].ours);
    return property;
}

static int error_unknown(const struct tool *tool, const char *name, struct sandlot_error *error)
{
    const char *names[TOOL_PROPERTIES];
    size_t count = property_count(tool);
    struct buffer list = {0};

    for (size_t i = 0; i < count; i++) {
        names[i] = tool->properties[i].name;
        buffer_format(&list, "%s%s", i ? ", " : "", names[i]);
    }
    const char *nearest = text_nearest(name, names, count);
    AUTO_FREE char *all = buffer_take(&list, NULL);

    if (!all)
        return error_no_memory(error);
    return error_set(error, SANDLOT_CODE_USAGE, "%s has no argument '%.*s'%s%s%s Its arguments are: %s.", tool->name,
                     SHOWN_NAME, name, nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : ".",
                     all);
}

/* 0 if it is one that may be left aside. */
static int check_foreign(const struct tool *tool, const char *name, struct json_object *value,
                         struct sandlot_error *error)
{
    bool off = !value || (json_object_is_type(value, json_type_boolean) && !json_object_get_boolean(value));

    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        if (&tool_table[foreign[i].tool] != tool || strcmp(foreign[i].name, name) != 0)
            continue;
        if (off || !foreign[i].advice)
            return 0;
        return error_set(error, SANDLOT_CODE_USAGE, "The argument '%s' is not supported; %s.", name, foreign[i].advice);
    }
    return error_unknown(tool, name, error);
}

static int error_type(const struct tool_property *property, struct json_object *value, struct sandlot_error *error)
{
    static const char *const wanted[] = {[PROPERTY_PATH] = "a string",
                                         [PROPERTY_WORD] = "a string",
                                         [PROPERTY_TEXT] = "a string",
                                         [PROPERTY_INTEGER] = "a whole number",
                                         [PROPERTY_BOOLEAN] = "true or false"};
    enum json_type type = json_object_get_type(value);
    bool structured = type == json_type_object || type == json_type_array;

    if (structured && strcmp(property->name, "content") == 0)
        return error_set(error, SANDLOT_CODE_USAGE, "content must be a string; for JSON send its text.");
    return error_set(error, SANDLOT_CODE_USAGE, "%s must be %s, not %s %s.", property->name, wanted[property->type],
                     type == json_type_object || type == json_type_array || type == json_type_int ? "an" : "a",
                     type == json_type_int      ? "integer"
                     : type == json_type_double ? "number"
                                                : json_type_to_name(type));
}

static int read_text(const struct tool_property *property, struct json_object *value, struct argument *to,
                     struct sandlot_error *error)
{
    if (!json_object_is_type(value, json_type_string))
        return error_type(property, value, error);
    to->text = json_object_get_string(value);
    to->length = (size_t)json_object_get_string_len(value);
    if (property->type != PROPERTY_TEXT && strlen(to->text) != to->length)
        return error_set(error, property->type == PROPERTY_PATH ? SANDLOT_CODE_INVALID_PATH : SANDLOT_CODE_USAGE,
                         "%s must not contain a NUL character.", property->name);
    if (!property->choices)
        return 0;
    struct buffer list = {0};

    for (size_t i = 0; property->choices[i]; i++) {
        if (strcmp(property->choices[i], to->text) == 0 && strlen(to->text) == to->length) {
            buffer_clear(&list);
            return 0;
        }
        buffer_format(&list, "%s%s", i ? ", " : "", property->choices[i]);
    }
    AUTO_FREE char *all = buffer_take(&list, NULL);

    return all ? error_set(error, SANDLOT_CODE_USAGE, "%s must be one of %s; '%.*s' is none of them.", property->name,
                           all, SHOWN_NAME, to->text)
               : error_no_memory(error);
}

static bool whole_number(struct json_object *value, int64_t *number)
{
    static const double exact = 9007199254740992.0; /* 2^53: beyond it not every whole number is there */

    if (json_object_is_type(value, json_type_int)) {
        *number = json_object_get_int64(value);
        return true;
    }
    if (json_object_is_type(value, json_type_string))
        return text_parse_integer(json_object_get_string(value), number);
    if (!json_object_is_type(value, json_type_double))
        return false;
    double wide = json_object_get_double(value);

    if (!(wide >= -exact && wide <= exact) || trunc(wide) != wide)
        return false;
    *number = (int64_t)wide;
    return true;
}

static int check_timeout(int64_t seconds, struct sandlot_error *error)
{
    enum { MS_PER_S = 1000 };

    if (seconds < 0)
        return error_set(error, SANDLOT_CODE_USAGE, "timeout must not be negative; 0 means no time limit.");
    if (seconds <= TOOL_TIMEOUT_MAXIMUM)
        return 0;
    if (seconds % MS_PER_S == 0 && seconds / MS_PER_S <= TOOL_TIMEOUT_MAXIMUM)
        return error_set(error, SANDLOT_CODE_USAGE, "timeout is in seconds, at most %d; did you mean %lld?",
                         TOOL_TIMEOUT_MAXIMUM, (long long)(seconds / MS_PER_S));
    return error_set(error, SANDLOT_CODE_USAGE, "timeout is in seconds, at most %d; 0 means no time limit.",
                     TOOL_TIMEOUT_MAXIMUM);
}

/* An offset and a limit below 0 are no errors: reading says what it made of them. */
static int read_integer(const struct tool_property *property, struct json_object *value, struct argument *to,
                        struct sandlot_error *error)
{
    if (!whole_number(value, &to->number))
        return error_type(property, value, error);
    if (property->maximum == TOOL_TIMEOUT_MAXIMUM)
        return check_timeout(to->number, error);
    if (property->maximum > 0 && (to->number < property->minimum || to->number > property->maximum))
        return error_set(error, SANDLOT_CODE_USAGE, "%s must be from %lld to %lld.", property->name,
                         (long long)property->minimum, (long long)property->maximum);
    if (property->minimum > 0 && to->number < property->minimum)
        return error_set(error, SANDLOT_CODE_USAGE, "%s must be at least %lld.", property->name,
                         (long long)property->minimum);
    return 0;
}

static int read_boolean(const struct tool_property *property, struct json_object *value, struct argument *to,
                        struct sandlot_error *error)
{
    bool is_text = json_object_is_type(value, json_type_string);
    const char *text = is_text ? json_object_get_string(value) : "";

    if (json_object_is_type(value, json_type_boolean))
        to->flag = json_object_get_boolean(value);
    else if (strcasecmp(text, "true") == 0)
        to->flag = true;
    else if (strcasecmp(text, "false") != 0)
        return error_type(property, value, error);
    return 0;
}

static int read_value(const struct tool_property *property, struct json_object *value, struct argument *to,
                      struct sandlot_error *error)
{
    to->given = true;
    switch (property->type) {
    case PROPERTY_PATH:
    case PROPERTY_WORD:
    case PROPERTY_TEXT:
        return read_text(property, value, to, error);
    case PROPERTY_INTEGER:
        return read_integer(property, value, to, error);
    case PROPERTY_BOOLEAN:
        return read_boolean(property, value, to, error);
    }
    return 0;
}

static int read_all(struct arguments *arguments, struct sandlot_error *error)
{
    const struct tool *tool = arguments->tool;

    json_object_object_foreach(arguments->object, name, value)
    {
        const struct tool_property *property = property_of(tool, arguments->object, name);

        if (!property) {
            if (check_foreign(tool, name, value, error) < 0)
                return -1;
            continue;
        }
        if (value && read_value(property, value, &arguments->values[property - tool->properties], error) < 0)
            return -1;
    }
    for (size_t i = 0; i < property_count(tool); i++)
        if (tool->properties[i].required && !arguments->values[i].given)
            return error_set(error, SANDLOT_CODE_USAGE, "%s needs the argument %s (%s).", tool->name,
                             tool->properties[i].name, tool->properties[i].description);
    return 0;
}

static struct json_object *parse(const char *text)
{
    size_t length = strlen(text);
    struct json_tokener *tokener = length < INT_MAX ? json_tokener_new_ex(NESTING) : NULL;

    if (!tokener)
        return NULL;
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    struct json_object *object = json_tokener_parse_ex(tokener, text, (int)length);
    bool whole =
        json_tokener_get_error(tokener) == json_tokener_success &&
        text[json_tokener_get_parse_end(tokener) + strspn(text + json_tokener_get_parse_end(tokener), " \t\r\n")] ==
            '\0';

    json_tokener_free(tokener);
    if (whole && json_object_is_type(object, json_type_object))
        return object;
    json_object_put(object);
    return NULL;
}

enum arguments_state arguments_read(const struct tool *tool, const char *text, struct arguments *arguments,
                                    struct sandlot_error *error)
{
    text = text ? text : "{}";
    *arguments = (struct arguments){.tool = tool};
    if (text_json_values(text, strlen(text)) > MOST_VALUES) {
        error_set(error, SANDLOT_CODE_USAGE, "the arguments of %s hold more than %d values; send text as one string",
                  tool->name, MOST_VALUES);
        return ARGUMENTS_WRONG;
    }
    arguments->object = parse(text);
    if (!arguments->object) {
        error_set(error, SANDLOT_CODE_USAGE, "the arguments of %s must be a JSON object", tool->name);
        return ARGUMENTS_NO_OBJECT;
    }
    return read_all(arguments, error) < 0 ? ARGUMENTS_WRONG : ARGUMENTS_FINE;
}

void arguments_clear(struct arguments *arguments)
{
    json_object_put(arguments->object);
    *arguments = (struct arguments){0};
}

const struct argument *argument(const struct arguments *arguments, const char *name)
{
    const struct tool_property *property = find_property(arguments->tool, name);
    static const struct argument absent;

    return property ? &arguments->values[property - arguments->tool->properties] : &absent;
}

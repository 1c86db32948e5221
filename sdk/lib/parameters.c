#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/parameters.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { HIGHEST_PORT = 65535 };

static enum sandlot_status no_memory(struct sandlot_call *call)
{
    return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for the parameters; free some");
}

/* The text of JSON of which something would be cut off: names, paths and variables end at a NUL. */
static bool has_nul(const char *text)
{
    for (; (text = strchr(text, '\\')) && text[1]; text += 2)
        if (strncmp(text, "\\u0000", 6) == 0)
            return true;
    return false;
}

/* NULL in *DOCUMENT: nothing was said. */
static enum sandlot_status read_said(struct sandlot_call *call, const char *name, const char *text, enum json_type type,
                                     struct json_object **document)
{
    struct json_error error = {""};

    *document = NULL;
    if (parameter_is_said(text) && has_nul(text))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "%s holds a NUL (\\u0000), with which a text would end; leave it out", name);
    *document = parameter_is_said(text) ? json_read_document(text, strlen(text), &error) : NULL;
    if (!parameter_is_said(text) || json_object_is_type(*document, type))
        return SANDLOT_OK;
    json_object_put(*document);
    *document = NULL;
    return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "%s is no %s%s%s", name,
                        type == json_type_array ? "array such as [1, 2]" : "table such as {\"A\": \"1\"}",
                        *error.text ? ": it " : "", error.text);
}

static bool is_variable(const char *name)
{
    const char *at = name;

    while (isalnum((unsigned char)*at) || *at == '_')
        at++;
    return *name && !*at && !isdigit((unsigned char)*name);
}

/* Adds NAME with VALUE as a text. */
static enum sandlot_status add_text(struct sandlot_call *call, const char *parameter, const char *name,
                                    struct json_object *value, struct json_object *table)
{
    if (!value || json_object_is_type(value, json_type_object) || json_object_is_type(value, json_type_array))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "%s.%.100s must be a text, a number or a boolean",
                            parameter, name);
    const char *text = json_object_get_string(value);
    struct json_object *copy = text ? json_object_new_string(text) : NULL;

    if (copy && json_object_object_add(table, name, copy) == 0)
        return SANDLOT_OK;
    json_object_put(copy);
    return no_memory(call);
}

enum sandlot_status parameter_texts(struct sandlot_call *call, const char *name, const char *text,
                                    struct json_object **table)
{
    AUTO_DOCUMENT struct json_object *said = NULL;
    enum sandlot_status status = read_said(call, name, text, json_type_object, &said);

    *table = NULL;
    if (status != SANDLOT_OK || !said)
        return status;
    AUTO_DOCUMENT struct json_object *made = json_object_new_object();

    if (!made)
        return no_memory(call);
    json_object_object_foreach(said, key, value)
    {
        status = add_text(call, name, key, value, made);
        if (status != SANDLOT_OK)
            return status;
    }
    *table = made;
    made = NULL;
    return SANDLOT_OK;
}

enum sandlot_status parameter_variables(struct sandlot_call *call, const char *name, const char *text,
                                        struct json_object **table)
{
    AUTO_DOCUMENT struct json_object *made = NULL;
    enum sandlot_status status = parameter_texts(call, name, text, &made);

    *table = NULL;
    if (status != SANDLOT_OK || !made)
        return status;
    json_object_object_foreach(made, key, value)
    {
        (void)value;
        if (!is_variable(key))
            return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                                "%s.%.100s is no name for a variable; use letters, digits and \"_\"", name, key);
    }
    *table = made;
    made = NULL;
    return SANDLOT_OK;
}

/* 0: it is none. */
static int read_port(struct json_object *value)
{
    const char *text = json_object_get_string(value);
    char *end = NULL;
    long port = text && isdigit((unsigned char)*text) ? strtol(text, &end, 10) : 0;

    return end && !*end && port <= HIGHEST_PORT ? (int)port : 0;
}

enum sandlot_status parameter_ports(struct sandlot_call *call, const char *name, const char *text,
                                    struct json_object **ports)
{
    AUTO_DOCUMENT struct json_object *said = NULL;
    enum sandlot_status status = read_said(call, name, text, json_type_array, &said);

    *ports = NULL;
    if (status != SANDLOT_OK || !said)
        return status;
    AUTO_DOCUMENT struct json_object *made = json_object_new_array();

    for (size_t i = 0; made && i < json_object_array_length(said); i++) {
        struct json_object *value = json_object_array_get_idx(said, i);
        int port = read_port(value);
        struct json_object *number = port ? json_object_new_int(port) : NULL;

        if (!port)
            return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "%s: \"%.40s\" is no port; ports are 1 to %d", name,
                                value ? json_object_get_string(value) : "null", HIGHEST_PORT);
        if (!number || json_object_array_add(made, number) != 0) {
            json_object_put(number);
            return no_memory(call);
        }
    }
    *ports = made;
    made = NULL;
    return *ports ? SANDLOT_OK : no_memory(call);
}

/* ---- into the body of a request ---------------------------------------------------------------------------------- */

void parameter_set_text(struct json_builder *body, const char *path, const char *text)
{
    if (parameter_is_said(text))
        json_set_string(body, path, text);
}

void parameter_set_integer(struct json_builder *body, const char *path, int64_t number)
{
    if (number != SANDLOT_ABSENT_INTEGER)
        json_set_integer(body, path, number);
}

void parameter_set_json(struct json_builder *body, const char *path, const char *text)
{
    if (parameter_is_said(text))
        json_set_text(body, path, text);
}

void parameter_set_labels(struct json_builder *body, const char *path, const struct sandlot_create *request)
{
    for (size_t i = 0; i < request->label_count; i++)
        json_set_member(body, path, request->labels[i].key, request->labels[i].value);
}

enum sandlot_status parameter_set_texts(struct sandlot_call *call, struct json_builder *body, const char *path,
                                        const char *name, const char *text)
{
    struct json_object *table = NULL;
    enum sandlot_status status = parameter_texts(call, name, text, &table);

    if (table)
        json_set_value(body, path, table);
    return status;
}

enum sandlot_status parameter_set_variables(struct sandlot_call *call, struct json_builder *body, const char *path,
                                            const char *name, const char *text)
{
    struct json_object *table = NULL;
    enum sandlot_status status = parameter_variables(call, name, text, &table);

    if (table)
        json_set_value(body, path, table);
    return status;
}

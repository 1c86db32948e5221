#include "network/table.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "config/toml_tree.h"
#include "config/value.h"
#include "network/sets.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

int network_table_fail(const struct network_table *table, const char *key, struct sandlot_error *error,
                       const char *format, ...)
{
    va_list arguments;
    int line = config_line(table->lines, key);

    va_start(arguments, format);
    AUTO_FREE char *text = text_format_v(format, arguments);
    va_end(arguments);
    if (line > 0)
        return error_set(error, SANDLOT_CODE_USAGE, "%s:%d: %s %s", table->file, line, table->name, text ? text : "");
    return error_set(error, SANDLOT_CODE_USAGE, "%s: %s %s", table->file, table->name, text ? text : "");
}

enum sandlot_network_mode network_mode_of(const char *name)
{
    return strcmp(name, "off") == 0     ? SANDLOT_NETWORK_OFF
           : strcmp(name, "allow") == 0 ? SANDLOT_NETWORK_ALLOW
           : strcmp(name, "open") == 0  ? SANDLOT_NETWORK_OPEN
                                        : (enum sandlot_network_mode)0;
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

static bool is_text(struct json_object *value)
{
    return json_object_is_type(value, json_type_string) && !toml_is_moment(value) && value_plain_text(value);
}

static int wrong_type(const struct network_table *table, const char *key, struct json_object *value, const char *wanted,
                      struct sandlot_error *error)
{
    return network_table_fail(table, key, error, "%s is %s, but must be %s", key, config_type_name(value), wanted);
}

static int check_texts(const struct network_table *table, const char *key, struct json_object *array,
                       struct sandlot_error *error)
{
    if (!json_object_is_type(array, json_type_array))
        return wrong_type(table, key, array, "an array of strings", error);
    for (size_t i = 0; i < json_object_array_length(array); i++)
        if (!is_text(json_object_array_get_idx(array, i)))
            return network_table_fail(table, key, error, "%s holds %s, but must hold strings", key,
                                      config_type_name(json_object_array_get_idx(array, i)));
    return 0;
}

/* Every key of OBJECT must be one of KNOWN. */
static int check_keys(const struct network_table *table, const char *in, struct json_object *object,
                      const char *const *known, size_t count, struct sandlot_error *error)
{
    json_object_object_foreach(object, key, value)
    {
        (void)value;
        if (text_is_one_of(key, known, count))
            continue;
        const char *nearest = text_nearest(key, known, count);

        return network_table_fail(table, key, error,
                                  "%shas the unknown key \"%s\"%s%s%s; nothing is made until that is mended", in, key,
                                  nearest ? ", did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
    }
    return 0;
}

/* ---- the parts --------------------------------------------------------------------------------------------------- */

static int read_mode(struct network_table *table, struct json_object *value, struct sandlot_error *error)
{
    if (value && !is_text(value))
        return wrong_type(table, "mode", value, "\"off\", \"allow\" or \"open\"", error);
    if (table->allow)
        table->mode = SANDLOT_NETWORK_ALLOW;
    if (!value)
        return 0;
    table->mode = network_mode_of(json_object_get_string(value));
    if (!table->mode)
        return network_table_fail(table, "mode", error, "mode is \"%s\", but must be \"off\", \"allow\" or \"open\"",
                                  json_object_get_string(value));
    if (table->allow && table->mode != SANDLOT_NETWORK_ALLOW)
        return network_table_fail(table, "mode", error,
                                  "mode is \"%s\", and there is a list of what to allow: one of "
                                  "them must go",
                                  json_object_get_string(value));
    return 0;
}

static int check_credential(const struct network_table *table, struct json_object *credential,
                            struct sandlot_error *error)
{
    static const char *const known[] = {"host", "header", "env", "file", "command", "placeholder", "basic", "plain"};

    if (!json_object_is_type(credential, json_type_object))
        return wrong_type(table, "credentials", credential, "an array of tables, [[network.credentials]]", error);
    if (check_keys(table, "credentials: one ", credential, known, COUNT(known), error) < 0)
        return -1;
    json_object_object_foreach(credential, key, value)
    {
        bool is_switch = strcmp(key, "plain") == 0;

        if (is_switch && !json_object_is_type(value, json_type_boolean))
            return wrong_type(table, "plain", value, "true or false, without quotes", error);
        if (!is_switch && (!is_text(value) || !*json_object_get_string(value)))
            return network_table_fail(table, "credentials", error,
                                      "credentials: %s is %s, but must be a string that is not empty", key,
                                      config_type_name(value));
    }
    return 0;
}

static int check_credentials(const struct network_table *table, struct sandlot_error *error)
{
    struct json_object *array = table->credentials;

    if (array && !json_object_is_type(array, json_type_array))
        return wrong_type(table, "credentials", array, "an array of tables, [[network.credentials]]", error);
    for (size_t i = 0; array && i < json_object_array_length(array); i++)
        if (check_credential(table, json_object_array_get_idx(array, i), error) < 0)
            return -1;
    return 0;
}

static int check_sets(const struct network_table *table, struct sandlot_error *error)
{
    if (!table->sets)
        return 0;
    if (!json_object_is_type(table->sets, json_type_object))
        return wrong_type(table, "sets", table->sets, "a table of arrays", error);
    json_object_object_foreach(table->sets, name, entries)
    {
        if (!network_set_name_valid(name))
            return network_table_fail(table, "sets", error,
                                      "sets: \"%s\" cannot be the name of a set: small letters, digits, \"-\", \"_\"",
                                      name);
        if (check_texts(table, name, entries, error) < 0)
            return -1;
    }
    return 0;
}

static int read_parts(struct network_table *table, struct json_object *object, bool is_common,
                      struct sandlot_error *error)
{
    static const char *const known[] = {"mode", "allow", "upstream_ca", "credentials", "sets"};

    if (!json_object_is_type(object, json_type_object))
        return network_table_fail(table, "", error, "is %s, but must be a table", config_type_name(object));
    if (check_keys(table, "", object, known, COUNT(known) - (is_common ? 0 : 1), error) < 0)
        return -1;
    table->allow = config_member(object, "allow");
    table->credentials = config_member(object, "credentials");
    table->upstream_ca = config_member(object, "upstream_ca");
    table->sets = config_member(object, "sets");
    if ((table->allow && check_texts(table, "allow", table->allow, error) < 0) ||
        read_mode(table, config_member(object, "mode"), error) < 0)
        return -1;
    if (table->upstream_ca && !is_text(table->upstream_ca))
        return wrong_type(table, "upstream_ca", table->upstream_ca, "a string with the path of a file", error);
    return check_credentials(table, error) < 0 ? -1 : check_sets(table, error);
}

/* ---- where it stands --------------------------------------------------------------------------------------------- */

/* A key of PARENT that was probably meant to be "network" limits nothing, and must not be passed over. */
static int check_spelling(const struct network_table *table, struct json_object *parent, struct sandlot_error *error)
{
    static const char *const meant[] = {"network"};

    if (!json_object_is_type(parent, json_type_object))
        return 0;
    json_object_object_foreach(parent, key, value)
    {
        (void)value;
        if (strcmp(key, "network") != 0 && text_nearest(key, meant, 1))
            return error_set(error, SANDLOT_CODE_USAGE,
                             "%s: the unknown key \"%s\" is too near to %s to be passed over; nothing is made until "
                             "that is mended",
                             table->file, key, table->name);
    }
    return 0;
}

/* Is there a key "network" in NODE, or below it? */
static bool has_network(struct json_object *node)
{
    for (size_t i = 0; json_object_is_type(node, json_type_array) && i < json_object_array_length(node); i++)
        if (has_network(json_object_array_get_idx(node, i)))
            return true;
    if (!json_object_is_type(node, json_type_object))
        return false;
    json_object_object_foreach(node, key, value)
    {
        if (strcmp(key, "network") == 0 || has_network(value))
            return true;
    }
    return false;
}

/* A table "network" that stands where nobody reads it limits nothing either: below a key of PARENT, called IN, that is
 * none of KNOWN (NULL: all are), or that is an array where a table is read. */
static int check_ways(const struct config *config, const char *in, struct json_object *parent,
                      struct json_object *lines, const char *const *known, size_t count, struct sandlot_error *error)
{
    if (!json_object_is_type(parent, json_type_object))
        return 0;
    json_object_object_foreach(parent, key, value)
    {
        const bool is_read =
            (!known || text_is_one_of(key, known, count)) && !json_object_is_type(value, json_type_array);

        if (!is_read && (strcmp(key, "network") == 0 || has_network(value)))
            return error_set(error, SANDLOT_CODE_USAGE,
                             "%s:%d: %s: by the key \"%s\" there is a table network where none is read; it is "
                             "[network], or [sandboxes.providers.NAME.network] for one provider; nothing is made until "
                             "that is mended",
                             config->file, config_line(lines, key), in, key);
    }
    return 0;
}

/* All ways but those of a provider's own keys, where a parameter may be called network. */
static int check_all_ways(const struct config *config, struct sandlot_error *error)
{
    static const char *const top[] = {"sandboxes", "network"};
    static const char *const inner[] = {"default", "providers", "volumes"};
    struct json_object *sandboxes = config_member(config->tree, "sandboxes");
    struct json_object *lines = config_member(config->lines, "sandboxes");

    if (check_ways(config, "top level", config->tree, config->lines, top, COUNT(top), error) < 0 ||
        check_ways(config, "[sandboxes]", sandboxes, lines, inner, COUNT(inner), error) < 0)
        return -1;
    return check_ways(config, "[sandboxes.providers]", config_member(sandboxes, "providers"),
                      config_member(lines, "providers"), NULL, 0, error);
}

int network_table_read(const struct config *config, const char *provider, struct network_table *table,
                       struct sandlot_error *error)
{
    struct json_object *parent = config->tree;
    struct json_object *lines = config->lines;
    const char *const way[] = {"sandboxes", "providers", provider};

    *table = (struct network_table){.file = config->file};
    table->name = provider ? text_format("[sandboxes.providers.%s.network]", provider) : strdup("[network]");
    if (!table->name)
        return error_no_memory(error);
    for (size_t i = 0; provider && i < COUNT(way); i++) {
        parent = config_member(parent, way[i]);
        lines = config_member(lines, way[i]);
    }
    table->lines = lines;
    struct json_object *object = config_member(parent, "network");

    if (check_spelling(table, parent, error) < 0 || (!provider && check_all_ways(config, error) < 0))
        return -1;
    if (!object)
        return 0;
    table->lines = config_member(lines, "network");
    return read_parts(table, object, !provider, error);
}

void network_table_clear(struct network_table *table)
{
    free(table->name);
    *table = (struct network_table){0};
}

#include "config/config.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "config/toml_tree.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

enum { LARGEST_FILE = 1 << 20 };

/* Where a warning is about: one entry of one file. */
struct place {
    const char *file;
    const char *provider;
    struct json_object *lines; /* of the entry; may be NULL */
};

int config_line(struct json_object *lines, const char *key)
{
    struct json_object *line = NULL;
    struct json_object *of_table = NULL;

    if (!json_object_is_type(lines, json_type_object) || !json_object_object_get_ex(lines, key, &line))
        return 0;
    if (json_object_is_type(line, json_type_object))
        return json_object_object_get_ex(line, "", &of_table) ? json_object_get_int(of_table) : 0;
    return json_object_get_int(line);
}

struct json_object *config_member(struct json_object *object, const char *key)
{
    struct json_object *value = NULL;

    return json_object_is_type(object, json_type_object) && json_object_object_get_ex(object, key, &value) ? value
                                                                                                           : NULL;
}

const char *config_type_name(struct json_object *value)
{
    switch (json_object_get_type(value)) {
    case json_type_boolean:
        return "a boolean";
    case json_type_double:
        return "a float";
    case json_type_int:
        return "an integer";
    case json_type_object:
        return "a table";
    case json_type_array:
        return "an array";
    case json_type_string:
        return toml_is_moment(value) ? "a date or time" : "a string";
    case json_type_null:
        break;
    }
    return "nothing";
}

/* A warning about one place of FILE; LINE 0: unknown. */
__attribute__((format(printf, 3, 4))) static void warn(const char *file, int line, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    AUTO_FREE char *text = text_format_v(format, arguments);
    va_end(arguments);
    if (line > 0)
        log_warning("%s:%d: %s", file, line, text ? text : "out of memory");
    else
        log_warning("%s: %s", file, text ? text : "out of memory");
}

static void warn_type(const struct place *place, const char *key, struct json_object *found, const char *wanted)
{
    warn(place->file, config_line(place->lines, key),
         "[sandboxes.providers.%s] %s is %s, but must be %s: it is ignored", place->provider, key,
         config_type_name(found), wanted);
}

const char *config_name_problem(const char *name)
{
    if (!*name)
        return "is empty";
    if (*name == '-')
        return "begins with \"-\"";
    if (strcmp(name, "none") == 0)
        return "is the word for no sandbox";
    if (!text_utf8_valid(name, strlen(name)))
        return "is not UTF-8";
    for (const char *c = name; *c; c++) {
        if (isspace((unsigned char)*c))
            return "holds a blank";
        if (iscntrl((unsigned char)*c) || ((unsigned char)c[0] == 0xc2 && (unsigned char)c[1] < 0xa0))
            return "holds a control character";
        if (*c == '/')
            return "holds a \"/\"";
    }
    return NULL;
}

/* Is VALUE a string that C can carry? Otherwise a warning. */
static bool is_text(const struct place *place, const char *key, struct json_object *value)
{
    if (!json_object_is_type(value, json_type_string) || toml_is_moment(value)) {
        warn_type(place, key, value, "a string");
        return false;
    }
    if (strlen(json_object_get_string(value)) != (size_t)json_object_get_string_len(value)) {
        warn(place->file, config_line(place->lines, key),
             "[sandboxes.providers.%s] %s holds a NUL character: it is ignored", place->provider, key);
        return false;
    }
    return true;
}

static char *read_text(const struct place *place, const char *key, struct json_object *value)
{
    return is_text(place, key, value) ? strdup(json_object_get_string(value)) : NULL;
}

static enum config_switch read_switch(const struct place *place, const char *key, struct json_object *value)
{
    if (json_object_is_type(value, json_type_boolean))
        return json_object_get_boolean(value) ? CONFIG_YES : CONFIG_NO;
    warn_type(place, key, value, "a boolean (true or false, without quotes)");
    return CONFIG_UNSET;
}

static char *read_working_dir(const struct place *place, struct json_object *value)
{
    AUTO_FREE char *text = read_text(place, "working_dir", value);

    if (text && *text != '/') {
        warn(place->file, config_line(place->lines, "working_dir"),
             "[sandboxes.providers.%s] working_dir is \"%s\", but must be an absolute path: it is ignored",
             place->provider, text);
        return NULL;
    }
    return TAKE(text);
}

static char *read_isolation(const struct place *place, struct json_object *value)
{
    AUTO_FREE char *text = read_text(place, "isolation", value);

    if (text && strcmp(text, "process") != 0 && strcmp(text, "unconfined") != 0 && strcmp(text, "none") != 0) {
        warn(place->file, config_line(place->lines, "isolation"),
             "[sandboxes.providers.%s] isolation is \"%s\", but must be \"process\", \"unconfined\" or \"none\": it is "
             "ignored (it is about the worker process of the provider; the boxes of local are set by its parameter "
             "confinement)",
             place->provider, text);
        return NULL;
    }
    return TAKE(text);
}

/* Unknown keys of a table, each with the nearest of KNOWN, else with ADVICE. WHERE names the table. */
static void warn_unknown(const char *file, const char *where, struct json_object *table, struct json_object *lines,
                         const char *const *known, size_t count, const char *advice)
{
    json_object_object_foreach(table, key, value)
    {
        (void)value;
        if (text_is_one_of(key, known, count))
            continue;
        const char *nearest = text_nearest(key, known, count);

        if (nearest)
            warn(file, config_line(lines, key), "%s: the key %s is unknown, did you mean %s?", where, key, nearest);
        else
            warn(file, config_line(lines, key), "%s: the key %s is unknown and ignored%s", where, key, advice);
    }
}

static void clear_provider(struct config_provider *provider)
{
    free(provider->name);
    free(provider->class_path);
    free(provider->working_dir);
    free(provider->package);
    free(provider->isolation);
    json_object_put(provider->params);
    json_object_put(provider->lines);
}

static void read_fields(const struct place *place, struct json_object *table, struct config_provider *provider)
{
    static const char *const known[] = {
        "class_path", "working_dir", "package", "isolation", "supports_sandbox_id", "supports_snapshot_name",
        "params",     "network",
    };
    struct json_object *value;
    AUTO_FREE char *where = text_format("[sandboxes.providers.%s]", place->provider);

    if ((value = config_member(table, "working_dir")))
        provider->working_dir = read_working_dir(place, value);
    if ((value = config_member(table, "package")))
        provider->package = read_text(place, "package", value);
    if ((value = config_member(table, "isolation")))
        provider->isolation = read_isolation(place, value);
    if ((value = config_member(table, "supports_sandbox_id")))
        provider->supports_sandbox_id = read_switch(place, "supports_sandbox_id", value);
    if ((value = config_member(table, "supports_snapshot_name")))
        provider->supports_snapshot_name = read_switch(place, "supports_snapshot_name", value);
    if ((value = config_member(table, "params")) && !json_object_is_type(value, json_type_object))
        warn_type(place, "params", value, "a table");
    else
        provider->params = json_object_get(value);
    if (where)
        warn_unknown(place->file, where, table, place->lines, known, sizeof(known) / sizeof(known[0]),
                     "; a parameter of the provider belongs into its table params");
}

/* One [sandboxes.providers.NAME]; false if the entry is dropped. */
static bool read_provider(const char *file, const char *name, struct json_object *table, struct json_object *lines,
                          int line, struct config_provider *provider)
{
    const struct place place = {file, name, lines};
    const char *bad_name = config_name_problem(name);
    struct json_object *class_path = config_member(table, "class_path");

    if (bad_name) {
        warn(file, line, "the entry [sandboxes.providers.\"%s\"] is ignored: its name %s", name, bad_name);
        return false;
    }
    if (!json_object_is_type(table, json_type_object)) {
        warn(file, line, "sandboxes.providers.%s is %s, but must be a table: it is ignored", name,
             config_type_name(table));
        return false;
    }
    if (class_path && !is_text(&place, "class_path", class_path)) {
        warn(file, line, "the whole entry [sandboxes.providers.%s] is ignored because of its class_path", name);
        return false;
    }
    *provider = (struct config_provider){.name = strdup(name),
                                         .class_path = class_path ? strdup(json_object_get_string(class_path)) : NULL,
                                         .supports_sandbox_id = CONFIG_UNSET,
                                         .supports_snapshot_name = CONFIG_UNSET,
                                         .lines = json_object_get(lines),
                                         .line = line};
    if (!provider->name || (class_path && !provider->class_path)) {
        clear_provider(provider);
        return false;
    }
    if (provider->class_path && !strchr(provider->class_path, ':'))
        warn(file, config_line(lines, "class_path"),
             "[sandboxes.providers.%s] class_path \"%s\" has no colon: it must have the form \"library.so:symbol\"",
             name, provider->class_path);
    read_fields(&place, table, provider);
    return true;
}

static void read_providers(struct config *config, struct json_object *providers, struct json_object *lines)
{
    config->providers = calloc((size_t)json_object_object_length(providers) + 1, sizeof(*config->providers));
    if (!config->providers)
        return;
    json_object_object_foreach(providers, name, table)
    {
        struct json_object *entry_lines = config_member(lines, name);

        if (read_provider(config->file, name, table,
                          json_object_is_type(entry_lines, json_type_object) ? entry_lines : NULL,
                          config_line(lines, name), &config->providers[config->provider_count]))
            config->provider_count++;
    }
}

static void read_default(struct config *config, struct json_object *value, int line)
{
    const bool is_string = json_object_is_type(value, json_type_string) && !toml_is_moment(value);
    const char *text = is_string ? json_object_get_string(value) : NULL;

    if (!text)
        warn(config->file, line,
             "[sandboxes] default is %s, but must be a string with a provider's name: it is ignored",
             config_type_name(value));
    else if (!*text || strlen(text) != (size_t)json_object_get_string_len(value))
        warn(config->file, line, "[sandboxes] default is not a provider's name: it is ignored");
    else
        config->default_provider = strdup(text);
}

static void read_tree(struct config *config, struct json_object *tree, struct json_object *lines)
{
    static const char *const top[] = {"sandboxes", "network"};
    static const char *const known[] = {"default", "providers", "volumes"};
    struct json_object *sandboxes = config_member(tree, "sandboxes");
    struct json_object *sandboxes_lines = config_member(lines, "sandboxes");
    struct json_object *value;

    warn_unknown(config->file, "top level", tree, lines, top, 2, "");
    if (!sandboxes)
        return;
    if (!json_object_is_type(sandboxes, json_type_object)) {
        warn(config->file, config_line(lines, "sandboxes"),
             "sandboxes is %s, but must be a table: nothing of it is used", config_type_name(sandboxes));
        config->problem = text_format("sandboxes is %s instead of a table", config_type_name(sandboxes));
        return;
    }
    warn_unknown(config->file, "[sandboxes]", sandboxes, sandboxes_lines, known, 3, "");
    if ((value = config_member(sandboxes, "default")))
        read_default(config, value, config_line(sandboxes_lines, "default"));
    if (!(value = config_member(sandboxes, "providers")))
        return;
    if (json_object_is_type(value, json_type_object))
        read_providers(config, value, config_member(sandboxes_lines, "providers"));
    else
        warn(config->file, config_line(sandboxes_lines, "providers"),
             "sandboxes.providers is %s, but must be a table: it is ignored", config_type_name(value));
}

static void read_document(struct config *config, const char *text, size_t length)
{
    struct toml_problem problem;
    struct json_object *lines = NULL;
    struct json_object *tree = toml_parse(text, length, &lines, &problem);

    if (tree) {
        read_tree(config, tree, lines);
    } else {
        config->problem =
            text_format("invalid TOML syntax: line %d, column %d: %s", problem.line, problem.column, problem.message);
        log_warning("%s:%d:%d: invalid TOML syntax: %s; nothing of this file is used until that is mended",
                    config->file, problem.line, problem.column, problem.message);
        config->may_limit_network = memmem(text, length, "network", strlen("network")) != NULL;
    }
    config->tree = tree;
    config->lines = lines;
}

struct config *config_parse(const char *file, const char *text, size_t length)
{
    struct config *config = calloc(1, sizeof(*config));

    if (!config || !(config->file = strdup(file))) {
        free(config);
        return NULL;
    }
    read_document(config, text, length);
    return config;
}

/* Where the configuration comes from, in the order of precedence. */
enum origin { FROM_FLAG, FROM_VARIABLE, FROM_DEFAULT };

static char *find_file(const char *explicit_file, enum origin *origin)
{
    const char *variable = getenv("SANDLOT_CONFIG");

    if (explicit_file) {
        *origin = FROM_FLAG;
        return path_absolute(explicit_file, NULL);
    }
    if (variable && *variable) {
        *origin = FROM_VARIABLE;
        return path_absolute(variable, NULL);
    }
    *origin = FROM_DEFAULT;
    AUTO_FREE char *folder = path_config_home();

    return folder ? text_format("%s/config.toml", folder) : NULL;
}

/* The file could not be read, with errno. -1 if that is an error of the caller. */
static int unreadable(struct config *config, enum origin origin, struct sandlot_error *error)
{
    const bool missing = errno == ENOENT || errno == ENOTDIR;
    const char *reason = errno == EFBIG ? "it is larger than 1 MiB" : path_read_problem(errno);

    if (missing && origin == FROM_FLAG)
        return error_set(error, SANDLOT_CODE_USAGE,
                         "there is no config file %s: name one that exists with --config, or leave the flag out",
                         config->file);
    if (missing && origin == FROM_VARIABLE)
        log_warning("SANDLOT_CONFIG names %s, which does not exist: going on without configuration", config->file);
    if (missing)
        return 0;
    config->problem = text_format("could not read config file: %s", reason);
    log_warning("%s: could not read config file: %s; going on without it", config->file, reason);
    return 0;
}

struct config *config_load(const char *explicit_file, struct sandlot_error *error)
{
    enum origin origin;
    size_t length;

    if (explicit_file && !*explicit_file) {
        error_set(error, SANDLOT_CODE_USAGE, "--config needs the name of a file, but got an empty text");
        return NULL;
    }
    struct config *config = calloc(1, sizeof(*config));

    if (!config || !(config->file = find_file(explicit_file, &origin))) {
        config_free(config);
        error_no_memory(error);
        return NULL;
    }
    AUTO_FREE char *text = path_read_file(config->file, LARGEST_FILE, &length);

    if (text) {
        read_document(config, text, length);
    } else if (unreadable(config, origin, error) < 0) {
        config_free(config);
        return NULL;
    }
    return config;
}

void config_free(struct config *config)
{
    if (!config)
        return;
    for (size_t i = 0; i < config->provider_count; i++)
        clear_provider(&config->providers[i]);
    free(config->providers);
    json_object_put(config->tree);
    json_object_put(config->lines);
    free(config->file);
    free(config->problem);
    free(config->default_provider);
    free(config);
}

const struct config_provider *config_find(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->provider_count; i++)
        if (strcmp(config->providers[i].name, name) == 0)
            return &config->providers[i];
    return NULL;
}

int config_parameter_line(const struct config_provider *provider, const char *key)
{
    return *key ? config_line(config_member(provider->lines, "params"), key) : 0;
}

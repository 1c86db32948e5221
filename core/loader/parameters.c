#include "loader/parameters.h"

#include "base/cleanup.h"
#include "base/duration.h"
#include "base/error.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "config/value.h"

#include <ctype.h>
#include <ffi.h>
#include <inttypes.h>
#include <stdalign.h>
#include <string.h>

enum {
    MOST_PARAMETERS = 256,
    LARGEST_ROW = 4096,    /* of a provider built with a header of the far future */
    LONGEST_NAME = 38,     /* as the header says */
    LONGEST_QUOTATION = 64 /* of a wrong value in a message */
};

#define LONGEST_TIME_S INT64_C(3153600000) /* a hundred years; its milliseconds are far from overflowing */

enum host_parameter { START_TIMEOUT, IDLE_TTL, HARD_TTL, HOST_PARAMETER_COUNT };

static const struct sandlot_parameter host_parameters[HOST_PARAMETER_COUNT] = {
    [START_TIMEOUT] = {sizeof(struct sandlot_parameter), "start_timeout_s", SANDLOT_PARAMETER_integer,
                       SANDLOT_FLAG_optional, "180", "seconds until a new sandbox must be ready"},
    [IDLE_TTL] = {sizeof(struct sandlot_parameter), "ttl_s", SANDLOT_PARAMETER_integer, SANDLOT_FLAG_optional, "3600",
                  "seconds without use after which a sandbox ends, 0 for never"},
    [HARD_TTL] = {sizeof(struct sandlot_parameter), "hard_ttl_s", SANDLOT_PARAMETER_integer, SANDLOT_FLAG_optional,
                  "2592000", "seconds after which a sandbox ends whatever happens, 0 for never"},
};

/* How messages speak of a kind; indexed by enum sandlot_parameter_kind. */
static const struct {
    const char *noun;
    const char *form; /* what to write */
} kinds[] = {
    [SANDLOT_PARAMETER_string] = {"a string", "text in UTF-8"},
    [SANDLOT_PARAMETER_path] = {"a path", "a path as text"},
    [SANDLOT_PARAMETER_integer] = {"an integer", "a whole number such as 512"},
    [SANDLOT_PARAMETER_float] = {"a float", "a number such as 1.5"},
    [SANDLOT_PARAMETER_boolean] = {"a boolean", "true or false"},
    [SANDLOT_PARAMETER_array] = {"an array", "an array such as [\"a\", \"b\"]"},
    [SANDLOT_PARAMETER_table] = {"a table", "a table, which --param takes as JSON"},
};

/* The host's own parameters first, then the provider's, in the order in which open takes them. */
struct parameters {
    struct sandlot_parameter *declared;
    struct value *values;
    int *lines; /* of the config, where the values stand; 0: elsewhere */
    size_t count;
    char *config_file;
};

/* One binding in progress. */
struct binder {
    struct parameters *parameters;
    const char *provider;
    const struct config_provider *config;
    const char *config_file;
    const char *config_folder;
    struct sandlot_error *error;
};

const struct sandlot_parameter *parameters_of_host(size_t *count)
{
    *count = HOST_PARAMETER_COUNT;
    return host_parameters;
}

/* ---- the declaration --------------------------------------------------------------------------------------------- */

static const struct sandlot_parameter *find(const struct sandlot_parameter *declared, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(declared[i].name, name) == 0)
            return &declared[i];
    return NULL;
}

static bool is_identifier(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    size_t length = strnlen(name, LONGEST_NAME + 1);

    return length > 0 && length <= LONGEST_NAME && strspn(name, letters) == length && !isdigit((unsigned char)*name);
}

/* What is wrong with one row of a provider's table; NULL: nothing. BEFORE: the rows that precede it. */
static const char *row_fault(const struct sandlot_parameter *row, const struct sandlot_parameter *before, size_t count)
{
    if (!is_identifier(row->name))
        return "its name is no C identifier of at most 38 bytes";
    if (find(host_parameters, HOST_PARAMETER_COUNT, row->name))
        return "that name belongs to the host";
    if (find(before, count, row->name))
        return "it is declared twice";
    if (row->kind < SANDLOT_PARAMETER_string || row->kind > SANDLOT_PARAMETER_table)
        return "its kind is not known to this version of Sandlot";
    return value_default_fits(row->kind, row->default_text) ? NULL : "its default is not of its kind";
}

static int broken_declaration(struct sandlot_error *error, const char *what)
{
    return error_set(error, SANDLOT_CODE_PROVIDER_UNAVAILABLE,
                     "its table of parameters makes no sense: %s; install another version of it", what);
}

/* What a row of every provider of ABI 1 has. */
#define SMALLEST_ROW (offsetof(struct sandlot_parameter, help) + sizeof(((struct sandlot_parameter *)0)->help))

/* Copies the rows, which a newer provider may have longer than ours and an older one shorter, to DECLARED, which is
 * zero, behind the host's. */
static int read_rows(const struct sandlot_provider *provider, struct sandlot_parameter *declared,
                     struct sandlot_error *error)
{
    size_t stride = provider->parameters->size;

    if (stride < SMALLEST_ROW || stride > LARGEST_ROW || stride % alignof(struct sandlot_parameter) != 0)
        return broken_declaration(error, "the size of its rows is wrong");
    for (size_t i = 0; i < provider->parameter_count; i++) {
        const struct sandlot_parameter *row = (const void *)((const char *)provider->parameters + i * stride);
        struct sandlot_parameter *copy = &declared[i];

        if (row->size != stride || !row->name)
            return broken_declaration(error, "a row has another size or no name");
        memcpy(copy, row, stride < sizeof(*copy) ? stride : sizeof(*copy));
        copy->default_text = row->default_text ? row->default_text : "";
        copy->help = row->help ? row->help : "";
        const char *fault = row_fault(copy, declared, i);

        if (fault) {
            AUTO_FREE char *what = text_format("parameter \"%.*s\": %s", LONGEST_NAME, row->name, fault);

            return what ? broken_declaration(error, what) : error_no_memory(error);
        }
    }
    return 0;
}

/* All parameters, the host's first; to be freed. NULL on error. */
static struct sandlot_parameter *read_declaration(const struct sandlot_provider *provider, size_t *count,
                                                  struct sandlot_error *error)
{
    if (provider->parameter_count > MOST_PARAMETERS || (provider->parameter_count && !provider->parameters)) {
        broken_declaration(error, "their number is wrong");
        return NULL;
    }
    *count = HOST_PARAMETER_COUNT + provider->parameter_count;
    AUTO_FREE struct sandlot_parameter *declared = calloc(*count, sizeof(*declared));

    if (!declared) {
        error_no_memory(error);
        return NULL;
    }
    memcpy(declared, host_parameters, sizeof(host_parameters));
    if (provider->parameter_count && read_rows(provider, declared + HOST_PARAMETER_COUNT, error) < 0)
        return NULL;
    return TAKE(declared);
}

int parameters_check(const struct sandlot_provider *provider, struct sandlot_error *error)
{
    size_t count;
    AUTO_FREE struct sandlot_parameter *declared = read_declaration(provider, &count, error);

    return declared ? 0 : -1;
}

/* ---- binding ----------------------------------------------------------------------------------------------------- */

/* "; did you mean ...? Its parameters are ..." for an unknown NAME; to be freed. */
static char *known_names(const struct parameters *parameters, const char *name)
{
    AUTO_FREE const char **names = calloc(parameters->count, sizeof(*names));
    AUTO_FREE char *list = NULL;

    if (!names)
        return NULL;
    for (size_t i = 0; i < parameters->count; i++) {
        /* The provider's own first: they are what was probably meant. */
        size_t at = (i + HOST_PARAMETER_COUNT) % parameters->count;

        names[i] = parameters->declared[at].name;
        if (!text_append(&list, "%s%s", i ? ", " : "", names[i]))
            return NULL;
    }
    const char *nearest = text_nearest(name, names, parameters->count);

    return text_format("%s%s%sits parameters are: %s", nearest ? "did you mean \"" : "", nearest ? nearest : "",
                       nearest ? "\"? " : "", list);
}

static int unknown_name(const struct binder *binder, const char *where, const char *name)
{
    AUTO_FREE char *known = known_names(binder->parameters, name);

    if (!known)
        return error_no_memory(binder->error);
    return error_set(binder->error, SANDLOT_CODE_USAGE, "%s: %s: there is no parameter \"%s\"; %s", binder->provider,
                     where, name, known);
}

/* How many of a time's own unit a second has, by the end of its name; 0: PARAMETER is no time. */
static int64_t parts_of_second(const struct sandlot_parameter *parameter)
{
    static const struct {
        const char *ending;
        int64_t parts;
    } units[] = {{"_s", 1}, {"_sec", 1}, {"_seconds", 1}, {"_ms", 1000}};
    const char *ending = strrchr(parameter->name, '_');

    if (!ending || (parameter->kind != SANDLOT_PARAMETER_integer && parameter->kind != SANDLOT_PARAMETER_float))
        return 0;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(ending, units[i].ending) == 0)
            return units[i].parts;
    return 0;
}

/* Reads TEXT into VALUE if it is a time with units and PARAMETER takes one. A bare number is none: it would not say
 * whether it counts seconds or what the parameter counts. */
static bool read_time(const struct sandlot_parameter *parameter, const char *text, struct value *value)
{
    int64_t parts = parts_of_second(parameter);
    int64_t seconds;

    if (parts == 0 || !text[strspn(text, "0123456789")] || !duration_parse(text, &seconds))
        return false;
    if (parameter->kind == SANDLOT_PARAMETER_integer)
        value->integer = seconds * parts;
    else
        value->number = (double)(seconds * parts);
    value->present = true;
    return true;
}

/* Is FOUND a number in quotes, or what type_found says of one in the config? */
static bool is_whole_number(const char *found)
{
    size_t sign = strspn(found, "\"+-");
    size_t digits = strspn(found + sign, "0123456789");

    return strcmp(found, "an integer") == 0 || (digits > 0 && strcmp(found + sign + digits, "\"") == 0);
}

/* FOUND: what stands there instead, such as "a string" or a quotation; never the value of a secret. */
static int wrong_value(const struct binder *binder, const char *where, const struct sandlot_parameter *parameter,
                       const char *found)
{
    if (parameter->kind == SANDLOT_PARAMETER_integer && is_whole_number(found))
        return error_set(binder->error, SANDLOT_CODE_USAGE,
                         "%s: %s: parameter \"%s\" is out of range: a whole number is from %" PRId64 " to %" PRId64
                         ", and %s is not; give it a value in that range",
                         binder->provider, where, parameter->name, -INT64_MAX, INT64_MAX, found);
    return error_set(binder->error, SANDLOT_CODE_USAGE,
                     "%s: %s: parameter \"%s\" must be %s, and %s is not; give it %s%s", binder->provider, where,
                     parameter->name, kinds[parameter->kind].noun, found, kinds[parameter->kind].form,
                     parts_of_second(parameter) ? " or a time with units such as \"90s\", \"5m\" or \"1h30m\"" : "");
}

/* The host's own parameters are times with limits. */
static int check_range(const struct binder *binder, const char *where, size_t index, const struct value *value)
{
    int64_t least = index == START_TIMEOUT ? 1 : 0;

    if (index >= HOST_PARAMETER_COUNT || (value->integer >= least && value->integer <= LONGEST_TIME_S))
        return 0;
    return error_set(binder->error, SANDLOT_CODE_USAGE,
                     "%s: %s: parameter \"%s\" is a time in seconds from %" PRId64 " to %" PRId64 ", and %" PRId64
                     " is outside; give it a value in that range",
                     binder->provider, where, host_parameters[index].name, least, LONGEST_TIME_S, value->integer);
}

/* Puts VALUE in place of an earlier one. */
static int store(const struct binder *binder, const char *where, size_t index, struct value *value)
{
    if (check_range(binder, where, index, value) < 0) {
        value_clear(value);
        return -1;
    }
    value_clear(&binder->parameters->values[index]);
    binder->parameters->values[index] = *value;
    return 0;
}

static int bind_override(const struct binder *binder, const char *override)
{
    const char *equals = strchr(override, '=');

    if (!equals || equals == override)
        return error_set(binder->error, SANDLOT_CODE_USAGE, "%s: --param %s; write it as --param NAME=VALUE",
                         binder->provider, equals ? "has no name before \"=\"" : "has no \"=\"");
    AUTO_FREE char *name = strndup(override, (size_t)(equals - override));
    const struct parameters *parameters = binder->parameters;

    if (!name)
        return error_no_memory(binder->error);
    const struct sandlot_parameter *parameter = find(parameters->declared, parameters->count, name);

    if (!parameter)
        return unknown_name(binder, "--param", name);
    struct value value = value_absent();
    const char *text = equals + 1;

    if (parameter->flags & SANDLOT_FLAG_secret)
        value_hide_text(parameter->kind, text);
    /* The number first: without a unit it counts in the parameter's own. */
    if (value_from_text(parameter->kind, text, NULL, &value) || read_time(parameter, text, &value))
        return store(binder, "--param", (size_t)(parameter - parameters->declared), &value);
    value_clear(&value);
    if (parameter->kind == SANDLOT_PARAMETER_path && text_utf8_valid(text, strlen(text)))
        return error_set(
            binder->error, SANDLOT_CODE_USAGE,
            "%s: --param: parameter \"%s\" begins at the current folder, which is not there any more; give "
            "it a path from / on",
            binder->provider, parameter->name);
    if (parameter->flags & SANDLOT_FLAG_secret)
        return wrong_value(binder, "--param", parameter, "its value (not shown)");
    AUTO_FREE char *shown =
        text_format("\"%.*s%s\"", LONGEST_QUOTATION, text, strlen(text) > LONGEST_QUOTATION ? "..." : "");
    AUTO_FREE char *clean = shown ? text_utf8_replace(shown, strlen(shown), NULL) : NULL;

    return clean ? wrong_value(binder, "--param", parameter, clean) : error_no_memory(binder->error);
}

static bool is_overridden(const char *const *overrides, const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; overrides && overrides[i]; i++)
        if (strncmp(overrides[i], name, length) == 0 && overrides[i][length] == '=')
            return true;
    return false;
}

static const char *type_found(struct json_object *json)
{
    if (!value_json_can_say(json))
        return json_object_is_type(json, json_type_double) ? "a float that is no number"
                                                           : "one with a float that is no number";
    if (json_object_is_type(json, json_type_string) && !value_plain_text(json))
        return "a string with a NUL byte";
    return config_type_name(json);
}

static int bind_config_value(const struct binder *binder, const char *name, struct json_object *json)
{
    const struct parameters *parameters = binder->parameters;
    int line = config_parameter_line(binder->config, name);
    const char *file = binder->config_file ? binder->config_file : "the configuration";
    AUTO_FREE char *where = line > 0 ? text_format("%s:%d", file, line) : strdup(file);

    if (!where)
        return error_no_memory(binder->error);
    const struct sandlot_parameter *parameter = find(parameters->declared, parameters->count, name);

    if (!parameter)
        return unknown_name(binder, where, name);
    struct value value = value_absent();

    if (parameter->flags & SANDLOT_FLAG_secret)
        value_hide_json(json);
    const char *text = value_plain_text(json);

    if (value_from_json(parameter->kind, json, binder->config_folder, &value) ||
        (text && read_time(parameter, text, &value))) {
        parameters->lines[parameter - parameters->declared] = line;
        return store(binder, where, (size_t)(parameter - parameters->declared), &value);
    }
    value_clear(&value);
    return wrong_value(binder, where, parameter, type_found(json));
}

/* LENIENT: what is wrong becomes a warning, so that sandboxes can be listed and deleted with a config that is bad. */
static int bind_config(struct binder *binder, const char *const *overrides, bool lenient)
{
    struct sandlot_error *error = binder->error;
    struct json_object *params = binder->config ? binder->config->params : NULL;

    if (!json_object_is_type(params, json_type_object))
        return 0;
    json_object_object_foreach(params, name, json)
    {
        struct sandlot_error problem = {0};

        if (is_overridden(overrides, name))
            continue;
        binder->error = lenient ? &problem : error;
        int result = bind_config_value(binder, name, json);

        binder->error = error;
        if (result < 0 && !lenient)
            return -1;
        if (result < 0)
            log_warning("%s; it is left out for now", problem.message);
        sandlot_error_clear(&problem);
    }
    return 0;
}

/* "" took a path back: there is nothing to hand over. */
static bool has_value(const struct sandlot_parameter *parameter, const struct value *value)
{
    return value->present && (parameter->kind != SANDLOT_PARAMETER_path || value->text);
}

static int bind_defaults(const struct binder *binder, bool lenient)
{
    struct parameters *parameters = binder->parameters;

    for (size_t i = 0; i < parameters->count; i++) {
        const struct sandlot_parameter *parameter = &parameters->declared[i];
        struct value *value = &parameters->values[i];

        /* That the text fits the kind was checked with the declaration. */
        if (!value->present && *parameter->default_text &&
            !value_from_text(parameter->kind, parameter->default_text, NULL, value))
            return error_no_memory(binder->error);
        if ((parameter->flags & SANDLOT_FLAG_required) && !lenient && !has_value(parameter, value))
            return error_set(binder->error, SANDLOT_CODE_USAGE,
                             "%s: the parameter \"%s\" (%s) is required; set it in [sandboxes.providers.%s.params] or "
                             "with --param %s=VALUE",
                             binder->provider, parameter->name, kinds[parameter->kind].noun, binder->provider,
                             parameter->name);
    }
    return 0;
}

static int bind_all(struct binder *binder, const char *const *overrides, bool lenient)
{
    for (size_t i = 0; overrides && overrides[i]; i++)
        if (bind_override(binder, overrides[i]) < 0)
            return -1;
    if (bind_config(binder, overrides, lenient) < 0)
        return -1;
    return bind_defaults(binder, lenient);
}

struct parameters *parameters_bind(const struct sandlot_provider *provider, const struct config_provider *config,
                                   const char *config_file, const char *const *overrides, bool lenient,
                                   struct sandlot_error *error)
{
    struct parameters *parameters = calloc(1, sizeof(*parameters));
    AUTO_FREE char *folder = config_file ? path_parent(config_file) : NULL;

    if (!parameters || (config_file && !folder)) {
        free(parameters);
        error_no_memory(error);
        return NULL;
    }
    struct binder binder = {
        .parameters = parameters,
        .provider = config ? config->name : provider->name,
        .config = config,
        .config_file = config_file,
        .config_folder = folder,
        .error = error,
    };

    parameters->declared = read_declaration(provider, &parameters->count, error);
    if (!parameters->declared) {
        error_prefix(error, "%s: ", binder.provider);
    } else {
        parameters->values = calloc(parameters->count, sizeof(*parameters->values));
        parameters->lines = calloc(parameters->count, sizeof(*parameters->lines));
        parameters->config_file = config_file ? strdup(config_file) : NULL;
        for (size_t i = 0; parameters->values && i < parameters->count; i++)
            parameters->values[i] = value_absent();
        if (!parameters->values || !parameters->lines || (config_file && !parameters->config_file))
            error_no_memory(error);
        else if (bind_all(&binder, overrides, lenient) == 0)
            return parameters;
    }
    parameters_free(parameters);
    return NULL;
}

void parameters_free(struct parameters *parameters)
{
    if (!parameters)
        return;
    for (size_t i = 0; parameters->values && i < parameters->count; i++)
        free(parameters->values[i].text);
    free(parameters->values);
    free(parameters->lines);
    free(parameters->config_file);
    free(parameters->declared);
    free(parameters);
}

/* Is WORD in TEXT, and not a part of a longer name? */
static bool has_name(const char *text, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
        bool begins = at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_');

        if (begins && !isalnum((unsigned char)at[length]) && at[length] != '_')
            return true;
    }
    return false;
}

void parameters_add_origin(const struct parameters *parameters, struct sandlot_error *error)
{
    AUTO_FREE char *origin = NULL;

    for (size_t i = 0; error_is_set(error) && i < parameters->count; i++)
        if (parameters->lines[i] > 0 && has_name(error->message, parameters->declared[i].name))
            text_append(&origin, "; %s is from %s:%d", parameters->declared[i].name, parameters->config_file,
                        parameters->lines[i]);
    if (origin)
        error_append(error, "%s", origin);
}

int64_t parameters_start_timeout_ms(const struct parameters *parameters)
{
    return parameters->values[START_TIMEOUT].integer * 1000;
}

int64_t parameters_idle_ttl_ms(const struct parameters *parameters)
{
    return parameters->values[IDLE_TTL].integer * 1000;
}

int64_t parameters_hard_ttl_ms(const struct parameters *parameters)
{
    return parameters->values[HARD_TTL].integer * 1000;
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

/* The C type of an argument, and where libffi finds its value. */
static ffi_type *argument(enum sandlot_parameter_kind kind, struct value *value, void **address)
{
    switch (kind) {
    case SANDLOT_PARAMETER_integer:
        *address = &value->integer;
        return &ffi_type_sint64;
    case SANDLOT_PARAMETER_float:
        *address = &value->number;
        return &ffi_type_double;
    case SANDLOT_PARAMETER_boolean:
        *address = &value->truth;
        return &ffi_type_uint8;
    case SANDLOT_PARAMETER_string:
    case SANDLOT_PARAMETER_path:
    case SANDLOT_PARAMETER_array:
    case SANDLOT_PARAMETER_table:
        break;
    }
    *address = &value->text;
    return &ffi_type_pointer;
}

enum sandlot_status parameters_call_open(const struct parameters *parameters, const struct sandlot_provider *provider,
                                         struct sandlot_call *call, void **instance, struct sandlot_error *error)
{
    *instance = NULL;
    if (!provider->open)
        return SANDLOT_OK;
    ffi_type *types[2 + MOST_PARAMETERS] = {&ffi_type_pointer, &ffi_type_pointer};
    void *arguments[2 + MOST_PARAMETERS] = {&call, &instance};
    unsigned int count = 2;
    ffi_cif cif;
    ffi_arg result = 0; /* libffi widens results that are shorter than a register */

    for (size_t i = HOST_PARAMETER_COUNT; i < parameters->count; i++, count++)
        types[count] = argument(parameters->declared[i].kind, &parameters->values[i], &arguments[count]);
    if (ffi_prep_cif(&cif, FFI_DEFAULT_ABI, count, &ffi_type_sint, types) != FFI_OK) {
        error_set(error, SANDLOT_CODE_INTERNAL_ERROR,
                  "%s: libffi cannot prepare a call with %u arguments; report this to the authors of Sandlot",
                  provider->name, count);
        return SANDLOT_INTERNAL;
    }
    ffi_call(&cif, provider->open, &result, arguments);
    return (enum sandlot_status)(int)result;
}

/* ---- the ledger's record ----------------------------------------------------------------------------------------- */

/* Is it of use for who looks for a sandbox, and fit for the disk? A table says what is in a sandbox (files, variables,
 * labels) and never where it is found. */
static bool is_recordable(const struct sandlot_parameter *parameter)
{
    return parameter && !(parameter->flags & SANDLOT_FLAG_secret) && parameter->kind != SANDLOT_PARAMETER_table;
}

/* The text to record for OVERRIDE, to be freed; NULL: none. *FAILED: there was no memory. */
static char *recordable(const struct sandlot_parameter *declared, size_t count, const char *override, bool *failed)
{
    size_t length = strcspn(override, "=");
    AUTO_FREE char *name = strndup(override, length);
    const struct sandlot_parameter *parameter = name ? find(declared, count, name) : NULL;

    *failed = !name;
    if (!is_recordable(parameter) || !override[length])
        return NULL;
    const char *value = override + length + 1;
    char *text = NULL;

    if (parameter->kind == SANDLOT_PARAMETER_path && *value) {
        AUTO_FREE char *path = path_absolute(value, NULL);

        text = path ? text_format("%s=%s", name, path) : NULL;
    } else {
        text = strdup(override);
    }
    *failed = !text;
    return text;
}

struct json_object *parameters_recordable(const struct sandlot_provider *provider, const char *const *overrides)
{
    size_t count;
    AUTO_FREE struct sandlot_parameter *declared = read_declaration(provider, &count, NULL);
    AUTO_JSON struct json_object *record = json_object_new_array();

    for (size_t i = 0; declared && record && overrides && overrides[i]; i++) {
        bool failed;
        AUTO_FREE char *text = recordable(declared, count, overrides[i], &failed);

        if (failed || (text && json_object_array_add(record, json_object_new_string(text)) < 0))
            return NULL;
    }
    return record && json_object_array_length(record) > 0 ? TAKE(record) : NULL;
}

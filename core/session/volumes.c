#include "session/volumes.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "config/toml_tree.h"
#include "config/value.h"
#include "session/lifecycle.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST_NAME = 63, LONGEST_PATH = 1024, LARGEST_MB = 1 << 24 };

#define LETTERS_AND_DIGITS "abcdefghijklmnopqrstuvwxyz0123456789"

/* ---- what people write ------------------------------------------------------------------------------------------- */

const char *volume_name_problem(const char *name)
{
    const size_t length = strlen(name);

    if (length == 0)
        return "is empty";
    if (length > LONGEST_NAME)
        return "has more than 63 bytes";
    if (!strchr(LETTERS_AND_DIGITS, *name) || strspn(name, LETTERS_AND_DIGITS "-_.") != length)
        return "holds other characters than a-z, 0-9, \"-\", \"_\" and \".\", or begins with one of the last three";
    return NULL;
}

static bool has_controls(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == '\x7f')
            return true;
    return false;
}

static bool goes_upwards(const char *path)
{
    for (const char *at = path; *(at += strspn(at, "/")); at += strcspn(at, "/"))
        if (strcspn(at, "/") == 2 && strncmp(at, "..", 2) == 0)
            return true;
    return false;
}

/* The names of PATH with one "/" before each, to be freed; "": it is the root. NULL when out of memory. */
static char *shortest(const char *path)
{
    char *result = malloc(strlen(path) + 2);
    size_t used = 0;

    for (const char *at = path; result && *(at += strspn(at, "/"));) {
        const size_t length = strcspn(at, "/");
        const bool is_dot = length == 1 && *at == '.';

        if (!is_dot) {
            result[used] = '/';
            memcpy(result + used + 1, at, length);
            used += length + 1;
        }
        at += length;
    }
    if (result)
        result[used] = '\0';
    return result;
}

/* What is wrong with PATH as the place of a volume; NULL: nothing. */
static const char *path_problem(const char *path)
{
    if (*path != '/')
        return "has a path that is not absolute: begin it with \"/\"";
    if (strlen(path) > LONGEST_PATH)
        return "has a path of more than 1024 bytes";
    if (has_controls(path) || !text_utf8_valid(path, strlen(path)))
        return "has a path with control characters, or that is not UTF-8";
    if (strchr(path, ':'))
        return "has a path with a colon: only \":ro\" may follow the path, and none may be in it";
    if (goes_upwards(path))
        return "has a path that goes upwards by \"..\": write it without";
    return NULL;
}

/* PATH, which this changes, with or without ":ro". */
static const char *read_place(char *path, struct sandlot_volume *volume)
{
    const size_t length = strlen(path);
    const size_t end = strlen(VOLUME_READ_ONLY);

    if (length > end && strcmp(path + length - end, VOLUME_READ_ONLY) == 0) {
        path[length - end] = '\0';
        volume->flags |= SANDLOT_VOLUME_READ_ONLY;
    }
    const char *problem = path_problem(path);
    char *place = problem ? NULL : shortest(path);

    volume->path = place;
    if (!problem && !place)
        return "has a path that there is no memory for";
    return !problem && !*place ? "has the path \"/\", which is the whole sandbox: name a folder below it" : problem;
}

bool volume_parse(const char *written, struct sandlot_volume *volume, char **problem)
{
    const char *colon = strchr(written, ':');
    AUTO_FREE char *path = colon ? strdup(colon + 1) : NULL;

    *volume = (struct sandlot_volume){.name = colon ? strndup(written, (size_t)(colon - written)) : NULL};
    const char *name_wrong = volume->name ? volume_name_problem(volume->name) : NULL;
    const char *wrong = !colon ? "has no path: write NAME:/path" : path ? read_place(path, volume) : NULL;

    *problem = name_wrong ? text_format("has a name that %s", name_wrong) : wrong ? strdup(wrong) : NULL;
    if (!wrong && !name_wrong && volume->name && volume->path)
        return true;
    volume_clear(volume);
    return false;
}

void volume_clear(struct sandlot_volume *volume)
{
    free((char *)(uintptr_t)volume->name);
    free((char *)(uintptr_t)volume->path);
    *volume = (struct sandlot_volume){0};
}

/* ---- what the configuration says --------------------------------------------------------------------------------- */

/* [sandboxes.volumes], or one table of it. */
struct place {
    const char *file;
    struct json_object *lines;
};

__attribute__((format(printf, 4, 5))) static int fail(const struct place *place, const char *key,
                                                      struct sandlot_error *error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    AUTO_FREE char *text = text_format_v(format, arguments);
    va_end(arguments);
    return error_set(error, SANDLOT_CODE_USAGE, "%s:%d: [sandboxes.volumes] %s; nothing is made until that is mended",
                     place->file, config_line(place->lines, key), text ? text : "");
}

static bool is_text(struct json_object *value)
{
    return json_object_is_type(value, json_type_string) && !toml_is_moment(value) && value_plain_text(value);
}

static int check_keys(const struct place *place, const char *name, struct json_object *table,
                      struct sandlot_error *error)
{
    static const char *const known[] = {"path", "read_only", "writers", "limit_mb"};

    json_object_object_foreach(table, key, value)
    {
        const char *nearest = text_nearest(key, known, 4);
        bool found = false;

        (void)value;
        for (size_t i = 0; i < 4 && !found; i++)
            found = strcmp(key, known[i]) == 0;
        if (!found)
            return fail(place, key, error, "%s has the unknown key %s%s%s", name, key, nearest ? ", did you mean " : "",
                        nearest ? nearest : "");
    }
    return 0;
}

/* "PATH[:ro]" of the volume NAME, which stands at KEY. */
static int read_path(const struct place *place, const char *key, const char *name, struct json_object *value,
                     struct sandlot_volume *volume, struct sandlot_error *error)
{
    AUTO_FREE char *path = is_text(value) ? strdup(json_object_get_string(value)) : NULL;
    const char *wrong = path ? read_place(path, volume) : "has a path that is no string";

    return wrong ? fail(place, key, error, "%s %s", name, wrong) : 0;
}

static int read_writers(const struct place *place, const char *name, struct json_object *value,
                        struct sandlot_volume *volume, struct sandlot_error *error)
{
    const char *word = is_text(value) ? json_object_get_string(value) : "";

    if (strcmp(word, "many") == 0)
        volume->flags |= SANDLOT_VOLUME_MANY_WRITERS;
    else if (strcmp(word, "one") != 0)
        return fail(place, "writers", error, "%s has writers that are neither \"one\" nor \"many\"", name);
    return 0;
}

static int read_limit(const struct place *place, const char *name, struct json_object *value,
                      struct sandlot_volume *volume, struct sandlot_error *error)
{
    const int64_t limit = json_object_is_type(value, json_type_int) ? json_object_get_int64(value) : 0;

    if (limit < 1 || limit > LARGEST_MB)
        return fail(place, "limit_mb", error, "%s has a limit_mb that is no whole number from 1 to %d", name,
                    LARGEST_MB);
    volume->limit_bytes = (uint64_t)limit << 20;
    return 0;
}

static int read_table(const struct place *place, const char *name, struct json_object *table,
                      struct sandlot_volume *volume, struct sandlot_error *error)
{
    struct json_object *value;

    if (check_keys(place, name, table, error) < 0)
        return -1;
    if ((value = config_member(table, "path")) && read_path(place, "path", name, value, volume, error) < 0)
        return -1;
    if ((value = config_member(table, "writers")) && read_writers(place, name, value, volume, error) < 0)
        return -1;
    if ((value = config_member(table, "limit_mb")) && read_limit(place, name, value, volume, error) < 0)
        return -1;
    if (!(value = config_member(table, "read_only")))
        return 0;
    if (!json_object_is_type(value, json_type_boolean))
        return fail(place, "read_only", error, "%s has a read_only that is neither true nor false", name);
    volume->flags |= json_object_get_boolean(value) ? SANDLOT_VOLUME_READ_ONLY : 0;
    return 0;
}

/* One entry of [sandboxes.volumes]. To be cleared in any case. */
static int read_entry(const struct place *place, const char *name, struct json_object *entry,
                      struct sandlot_volume *volume, struct sandlot_error *error)
{
    const char *problem = volume_name_problem(name);
    const struct place own = {place->file, config_member(place->lines, name)};

    *volume = (struct sandlot_volume){.name = strdup(name)};
    if (!volume->name)
        return error_no_memory(error);
    if (problem)
        return fail(place, name, error, "\"%s\" cannot be a volume's name: it %s", name, problem);
    if (is_text(entry))
        return read_path(place, name, name, entry, volume, error);
    if (json_object_is_type(entry, json_type_object))
        return read_table(&own, name, entry, volume, error);
    return fail(place, name, error, "%s is %s, but must be a string with its path, or a table", name,
                config_type_name(entry));
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

static struct sandlot_volume *find(const struct volumes *volumes, const char *name)
{
    for (size_t i = 0; i < volumes->count; i++)
        if (strcmp(volumes->list[i].name, name) == 0)
            return &volumes->list[i];
    return NULL;
}

/* Takes over VOLUME, which is cleared. */
static int add(struct volumes *volumes, struct sandlot_volume *volume, struct sandlot_error *error)
{
    struct sandlot_volume *grown = realloc(volumes->list, (volumes->count + 1) * sizeof(*grown));

    if (!grown) {
        volume_clear(volume);
        return error_no_memory(error);
    }
    volumes->list = grown;
    volumes->list[volumes->count++] = *volume;
    *volume = (struct sandlot_volume){0};
    return 0;
}

static int add_asked(struct volumes *volumes, const char *written, struct sandlot_error *error)
{
    struct sandlot_volume volume;
    AUTO_FREE char *problem = NULL;
    AUTO_FREE char *shown = text_visible(written);

    if (!volume_parse(written, &volume, &problem))
        return problem ? error_set(error, SANDLOT_CODE_USAGE, "--volume %s %s", shown ? shown : "", problem)
                       : error_no_memory(error);
    if (!find(volumes, volume.name))
        return add(volumes, &volume, error);
    volume_clear(&volume);
    return error_set(error, SANDLOT_CODE_USAGE, "--volume %s names a volume a second time: leave one out", shown);
}

/* What the configuration says of a volume that was asked for; of any other one, if it has a path: the volume. */
static int heed(struct volumes *volumes, struct sandlot_volume *configured, bool can, struct sandlot_error *error)
{
    struct sandlot_volume *asked = find(volumes, configured->name);

    if (asked) {
        asked->limit_bytes = configured->limit_bytes;
        asked->flags |= configured->flags & SANDLOT_VOLUME_MANY_WRITERS;
    } else if (configured->path && can) {
        return add(volumes, configured, error);
    } else if (configured->path) {
        log_info("the volume %s of the configuration is left out: this provider has no volumes", configured->name);
    }
    return 0;
}

static int add_configured(const struct config *config, bool can, struct volumes *volumes, struct sandlot_error *error)
{
    struct json_object *table = config_member(config_member(config->tree, "sandboxes"), "volumes");
    const struct place place = {config->file, config_member(config_member(config->lines, "sandboxes"), "volumes")};
    int result = 0;

    if (!table)
        return 0;
    if (!json_object_is_type(table, json_type_object))
        return fail(&place, "", error, "is %s, but must be a table", config_type_name(table));
    json_object_object_foreach(table, name, entry)
    {
        struct sandlot_volume volume = {0};

        if (result == 0)
            result = read_entry(&place, name, entry, &volume, error);
        if (result == 0)
            result = heed(volumes, &volume, can, error);
        volume_clear(&volume);
    }
    return result;
}

/* Is PATH the folder OUTER, or in it? */
static bool lies_in(const char *path, const char *outer)
{
    const size_t length = strlen(outer);

    return strncmp(path, outer, length) == 0 && (!path[length] || path[length] == '/');
}

/* What one volume holds must not decide where another one is. */
static int check_apart(const struct volumes *volumes, struct sandlot_error *error)
{
    for (size_t i = 0; i < volumes->count; i++)
        for (size_t j = 0; j < volumes->count; j++)
            if (i != j && lies_in(volumes->list[i].path, volumes->list[j].path))
                return error_set(
                    error, SANDLOT_CODE_USAGE,
                    "the volume %s would be at %s, which is the place of the volume %s or lies in it; give "
                    "it another path",
                    volumes->list[i].name, volumes->list[i].path, volumes->list[j].name);
    return 0;
}

static int refuse(const struct sandlot *sandlot, const struct registry_entry *entry, struct sandlot_error *error)
{
    AUTO_FREE char *names = lifecycle_who_can(sandlot, CAPABILITY_VOLUMES);

    return error_set(error, SANDLOT_CODE_NOT_SUPPORTED,
                     "%s has no volumes, so nothing was made; leave --volume out there%s%s", entry->name,
                     names ? "; of the providers here these have them: " : "", names ? names : "");
}

int volumes_find(const struct sandlot *sandlot, const struct registry_entry *entry, const char *const *asked,
                 struct volumes *volumes, struct sandlot_error *error)
{
    const bool can = entry->note.capabilities & CAPABILITY_VOLUMES;

    *volumes = (struct volumes){0};
    for (; asked && *asked; asked++)
        if (add_asked(volumes, *asked, error) < 0)
            return -1;
    if (volumes->count && !can)
        return refuse(sandlot, entry, error);
    if (add_configured(sandlot->config, can, volumes, error) < 0)
        return -1;
    return check_apart(volumes, error);
}

void volumes_clear(struct volumes *volumes)
{
    for (size_t i = 0; i < volumes->count; i++)
        volume_clear(&volumes->list[i]);
    free(volumes->list);
    *volumes = (struct volumes){0};
}

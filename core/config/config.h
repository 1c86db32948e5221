/*
 * config.toml: `[sandboxes]` with `default` and `[sandboxes.providers.NAME]`; `[network]` and `[sandboxes.volumes]` are
 * only kept here, and read by core/network and core/session.
 *
 * Reading never fails because of what the file says: malformed entries are dropped with a warning
 * that names file, line, key and reason, and a file that cannot be used at all leaves an empty configuration
 * with `problem` set. Only an explicit file that is missing is an error.
 */
#ifndef SANDLOT_CONFIG_CONFIG_H
#define SANDLOT_CONFIG_CONFIG_H

#include <json-c/json.h>
#include <sandlot/sandlot.h>
#include <stdbool.h>
#include <stddef.h>

enum config_switch { CONFIG_UNSET = -1, CONFIG_NO = 0, CONFIG_YES = 1 };

/* One `[sandboxes.providers.NAME]`. Texts are NULL where the key is absent. */
struct config_provider {
    char *name;
    char *class_path; /* as written: "lib.so:symbol" */
    char *working_dir;
    char *package;
    char *isolation; /* "process", "unconfined" or "none" */
    enum config_switch supports_sandbox_id;
    enum config_switch supports_snapshot_name;
    struct json_object *params; /* a json object, NULL where absent */
    struct json_object *lines;  /* line numbers of this entry, as toml_parse gives them; may be NULL */
    int line;
};

struct config {
    char *file;             /* the file that was looked for, absolute; NULL: none (HOME unknown) */
    char *problem;          /* why the file could not be used ("invalid TOML syntax: ..."); NULL: fine or absent */
    char *default_provider; /* NULL: none */
    struct config_provider *providers;
    size_t provider_count;
    /* The whole file, for core/network and core/session, which take no table with a mistake in it; NULL: it could not
     * be used. */
    struct json_object *tree;
    struct json_object *lines; /* of the tree, as toml_parse gives them */
    bool may_limit_network;    /* it could not be used, and has the word "network" */
};

/*
 * Reads EXPLICIT_FILE (from --config; an error of SANDLOT_CODE_USAGE if it is missing), or $SANDLOT_CONFIG
 * (empty: as if unset; missing: a warning), or the default file (missing: silence). Result to be freed with
 * config_free; NULL on error.
 */
struct config *config_load(const char *explicit_file, struct sandlot_error *error);

void config_free(struct config *config);

/* The entry of that name, NULL if there is none. */
const struct config_provider *config_find(const struct config *config, const char *name);

/* The line of params.KEY of an entry; 0 if unknown. */
int config_parameter_line(const struct config_provider *provider, const char *key);

/* The line that was noted for KEY below LINES, itself if KEY is ""; 0 if unknown. */
int config_line(struct json_object *lines, const char *key);

/* The member KEY of OBJECT; NULL: it has none, or is none. */
struct json_object *config_member(struct json_object *object, const char *key);

/* What VALUE is, for messages: "a string". */
const char *config_type_name(struct json_object *value);

/* What the TEXT of a config file says; FILE is its name for warnings. Never NULL but when out of memory. The fuzzer
 * comes in here too. */
struct config *config_parse(const char *file, const char *text, size_t length);

/* Why NAME cannot be a provider's name ("holds a blank"); NULL: it can. The rule for config entries and notes alike. */
const char *config_name_problem(const char *name);

#endif

/*
 * Which providers there are, where each comes from, which source wins, and what each says of itself. Built
 * once per process, without executing provider code.
 *
 * Config beats plugins, plugins beat built-ins, per name. Within the plugin folders the first file found wins.
 */
#ifndef SANDLOT_REGISTRY_REGISTRY_H
#define SANDLOT_REGISTRY_REGISTRY_H

#include "config/config.h"
#include "config/environment.h"
#include "registry/entry_points.h"

enum registry_source { REGISTRY_CONFIG, REGISTRY_PLUGIN, REGISTRY_BUILTIN };

/* "config", "plugin", "builtin" */
const char *registry_source_name(enum registry_source source);

/*
 * One offer of a provider. Those with `winner` are what `--sandbox NAME` means; `shadows` leads to the next source of
 * the same name. An unusable file whose note could not be read has no name.
 */
struct registry_entry {
    char *name;
    enum registry_source source;
    char *path; /* the library; for a config entry without class_path that of its base; NULL: not found or not installed
                 */
    char *symbol;  /* the entry function; NULL: unknown */
    char *problem; /* why it cannot be used, and what to do; NULL: usable as far as is known without loading */
    bool winner;
    struct registry_entry *shadows;       /* what it hides; NULL: nothing */
    const struct config_provider *config; /* for REGISTRY_CONFIG */
    struct entry_point note;              /* what the library says of itself; empty without a library */

    /* The outcome, field by field (registry rules 4). */
    const char *working_dir;  /* never NULL; "/workspace" if nobody says */
    const char *install_hint; /* the package to install; NULL: none */
    bool supports_sandbox_id;
    bool supports_snapshot_name;
    const char *needs; /* programs and files for the dependency check; NULL: none */
};

struct registry;

/* Builds it. CONFIG must outlive it. Warnings for duplicates and the like go to the log. NULL: out of memory. */
struct registry *registry_new(const struct config *config);

void registry_free(struct registry *registry);

/* All entries, sorted by name, winners before what they shadow, nameless ones last. */
const struct registry_entry *const *registry_entries(const struct registry *registry, size_t *count);

/* The same without a word about duplicates, for those who look for something particular. */
const struct registry_entry *const *registry_entries_quietly(const struct registry *registry, size_t *count);

/* Files in the plugin folders that are shared objects without our note, so no plugins: path and why. Sorted by path. */
struct registry_ignored {
    char *path;
    char *reason;
};
const struct registry_ignored *registry_ignored(const struct registry *registry, size_t *count);

/* The plugin folders that were searched, in order. */
const char *const *registry_folders(const struct registry *registry, size_t *count);

/*
 * The winner of NAME. NULL with SANDLOT_CODE_UNKNOWN_PROVIDER otherwise, whose message has the nearest name, all names,
 * the folders searched, how to install or declare one, and the config file's problem if it has one.
 */
const struct registry_entry *registry_find(const struct registry *registry, const char *name,
                                           struct sandlot_error *error);

/* Is PROGRAM in PATH? */
bool registry_has_program(const char *program);

/* What ENTRY needs and this machine lacks ("the program mkfs.x is not in PATH"), to be freed; NULL: nothing. Loads
 * nothing. */
char *registry_missing_dependency(const struct registry_entry *entry);

/* The credentials that are not set ("ACME_API_KEY (or SANDLOT_ACME_API_KEY)"), to be freed; NULL: none is missing. */
char *registry_missing_credentials(const struct registry_entry *entry, const struct environment *environment);

/* What ENTRY can do, in words with blanks between, to be freed; NULL: out of memory. */
char *registry_capability_words(const struct registry_entry *entry);

#endif

/* What is known of providers by their names, also where they are not installed. */
#ifndef SANDLOT_REGISTRY_BUILTINS_H
#define SANDLOT_REGISTRY_BUILTINS_H

#include <stdbool.h>
#include <stddef.h>

struct builtin {
    const char *name;
    const char *description;
    const char *working_dir;
    bool supports_sandbox_id;
    bool supports_snapshot_name;
    bool ships; /* with Sandlot; else only its metadata are known, for a plugin of that name */
};

/* The Debian package of a provider of this source tree: a format. */
#define BUILTIN_PACKAGE "sandlot-provider-%s"

/* All of them, sorted by name. */
const struct builtin *builtins(size_t *count);

/* The one of that name, NULL if there is none. */
const struct builtin *builtin_find(const char *name);

/* Whether the provider NAME of this source tree is a Debian package: `local` alone is in that of the command. */
bool builtin_has_package(const char *name);

/*
 * The folder with their libraries, relative to the folder of this program or library: `builtins` in a build tree,
 * `../lib/sandlot/builtins` beside an installed command, `sandlot/builtins` beside an installed libsandlot.so. The
 * first that exists, the second if none does. To be freed; NULL when out of memory.
 */
char *builtins_folder(void);

/* This installation's own folder for plugins, given that of its built-ins: `providers` beside it, and in a build tree
 * `plugins`. To be freed; NULL when out of memory. */
char *builtins_own_plugins(const char *builtins);

#endif

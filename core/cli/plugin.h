/* What the commands about plugins have in common: where plugins are installed, and which are there. */
#ifndef SANDLOT_CLI_PLUGIN_H
#define SANDLOT_CLI_PLUGIN_H

#include "cli/context.h"
#include "registry/registry.h"

#define SYSTEM_PLUGIN_FOLDER "/usr/local/lib/sandlot/providers"

/* The folder that the command works on: this user's, or the system's with --system. To be freed; NULL when out of
 * memory. */
char *plugin_folder(const struct options *options);

/* Does the library of ENTRY lie in FOLDER, by whatever name both go? */
bool plugin_is_in(const struct registry_entry *entry, const char *folder);

/* Is ENTRY a plugin, whether or not something hides it? */
bool plugin_is(const struct registry_entry *entry);

/* What is used in the place of ENTRY, being of the same name; NULL: nothing is. */
const struct registry_entry *plugin_hidden_by(const struct registry *registry, const struct registry_entry *entry);

/* "config /etc/x.toml", "plugin /a/b.so", to be freed. */
char *plugin_place(const struct registry_entry *entry);

/* {"source","path"} of ENTRY, null for NULL. */
struct json_object *plugin_place_object(const struct registry_entry *entry);

/* The folder WHAT ("modules", "scaffold") of a build tree, beside this program, or else where `make install` has put
 * it, at INSTALLED below the prefix. To be freed; NULL when out of memory. */
char *plugin_part(const char *what, const char *installed);

/* Prints ERROR, clears it, and returns its exit status. */
int plugin_fail(const struct options *options, struct sandlot_error *error);

#endif

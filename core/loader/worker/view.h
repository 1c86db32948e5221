/* What a worker may see of the machine besides the system's own files: its library, what its entry point declares, and
 * the paths that its parameters name. */
#ifndef SANDLOT_LOADER_WORKER_VIEW_H
#define SANDLOT_LOADER_WORKER_VIEW_H

#include "config/environment.h"
#include "registry/registry.h"

#include <stdbool.h>

/*
 * The places, each "r" (to be read) or "w" (to be used as one likes) and an absolute path without links, ended by NULL.
 * LIBRARY: the file that is loaded, links resolved. CONFIG_FILE and OVERRIDES as parameters_bind has them. Folders that
 * ENTRY declares as writable are made. A place from which Sandlot's own folders could be reached is left out with a
 * warning, one that is not there without. To be freed with view_free; NULL when out of memory.
 */
char **view_new(const struct registry_entry *entry, const struct environment *environment, const char *library,
                const char *config_file, const char *const *overrides);

/* Does the folder FD lie where the worker may do as it likes, and belong to this user? */
bool view_is_writable(char *const *view, int fd);

/* NULL is fine. */
void view_free(char **view);

#endif

/* Paths inside a sandbox, as callers give them. */
#ifndef SANDLOT_OPERATIONS_SANDBOX_PATH_H
#define SANDLOT_OPERATIONS_SANDBOX_PATH_H

#include <sandlot/sandlot.h>
#include <stdbool.h>

/*
 * PATH made absolute against WORKING_DIR, with "." and repeated slashes taken out and no slash at the end; to be freed.
 * NULL with invalid_path: empty, a ".." component, a leading "~", or (ABSOLUTE_ONLY) not absolute. A
 * backslash is an ordinary byte.
 */
char *sandbox_path(const char *path, const char *working_dir, bool absolute_only, struct sandlot_error *error);

/* Is PATH (resolved) DIRECTORY (resolved) itself, or above it? */
bool sandbox_path_holds(const char *path, const char *directory);

#endif

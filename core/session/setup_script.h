/* The setup script: read and checked before anything is created, expanded, and run inside the sandbox. */
#ifndef SANDLOT_SESSION_SETUP_SCRIPT_H
#define SANDLOT_SESSION_SETUP_SCRIPT_H

#include "config/environment.h"

#include <sandlot/sandlot.h>
#include <stddef.h>

/*
 * Reads the script (UTF-8, no NUL, at most 1 MiB) and replaces ${NAME} where NAME is set in ENVIRONMENT and is not one
 * of those that belong to the sandbox (HOME, PATH, ...), in one pass. Values are not scanned again. Names that were
 * expanded go to the log with -v, values never. To be freed; NULL with SANDLOT_CODE_USAGE.
 */
char *setup_script_read(const char *path, const struct environment *environment, struct sandlot_error *error);

/* The expansion alone. To be freed; NULL when out of memory. EXPANDED gets the names, blank-separated, to be freed. */
char *setup_script_expand(const char *text, const struct environment *environment, char **expanded);

#endif

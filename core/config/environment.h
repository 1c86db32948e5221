/*
 * Variables for providers: the process environment, then the nearest .env from the current directory
 * upwards (the project's), then the .env beside the default config file (the user's). First writer wins, a variable
 * that is set but empty included. What a project's file may never set is left out (cli contract 6.7, registry
 * rules 8.3). A file is judged, by its owner and mode, when it is open.
 */
#ifndef SANDLOT_CONFIG_ENVIRONMENT_H
#define SANDLOT_CONFIG_ENVIRONMENT_H

#include <stdbool.h>

struct environment;

/* Reads the files, unless WITHOUT_FILES or SANDLOT_NO_ENV_FILE=1 for the project's. Never fails but for memory (NULL).
 */
struct environment *environment_load(bool without_files);

void environment_free(struct environment *environment);

/* The value of exactly NAME, NULL if it is not set; "" if it is set to nothing. Valid until environment_free. */
const char *environment_get(const struct environment *environment, const char *name);

/*
 * What one provider may have of it: all of the user's file, and of the project's the variables in the lists "A|B C" of
 * its CREDENTIALS and its PROJECT key, each with and without SANDLOT_; a list may be NULL. To be freed; NULL when out
 * of memory.
 */
struct environment *environment_of_provider(const struct environment *environment, const char *credentials,
                                            const char *project);

/* Calls EACH for every variable that a file has set. */
void environment_each_of_files(const struct environment *environment,
                               void (*each)(void *context, const char *name, const char *value), void *context);

/* A provider's lookup: SANDLOT_NAME, which if present hides NAME, then NAME; empty counts as absent (NULL). A NAME that
 * begins with SANDLOT_ is not prefixed again. */
const char *environment_lookup(const struct environment *environment, const char *name);

#endif

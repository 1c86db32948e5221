/* What of a sandbox's work should be looked at before it is taken over, and what never is. */
#ifndef SANDLOT_RESULTS_RISK_H
#define SANDLOT_RESULTS_RISK_H

#include <stdbool.h>
#include <stddef.h>

/* Why a person should look at PATH first: its name makes programs run, or steers them. A sentence without end; NULL:
 * its name is harmless. Of package.json nothing is said here: risk_of_scripts decides. */
const char *risk_of_path(const char *path);

/* Is PATH in a folder ".git" (in any case of letters), or that folder itself? Never applied, nor exported. */
bool risk_in_repository(const char *path);

/* Does the link at PATH to TARGET lead out of the folder, by name? Absolute targets do. */
bool risk_leads_out(const char *path, const char *target);

/* Is PATH a package.json? */
bool risk_is_package(const char *path);

/* Do the two texts of a package.json (NULL: there is none) differ in what runs by itself? What is no JSON counts as
 * different. */
bool risk_of_scripts(const char *before, size_t before_length, const char *after, size_t after_length);

#endif

/* Can a provider be used, as far as that is known without loading it? For `providers` and `doctor`. */
#ifndef SANDLOT_CLI_READINESS_H
#define SANDLOT_CLI_READINESS_H

#include "config/environment.h"
#include "registry/registry.h"

/* Why not, and what to do, to be freed; NULL: it can. */
char *readiness_problem(const struct registry_entry *entry, const struct environment *environment);

#endif

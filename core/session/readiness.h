/* Can a provider be used, as far as that is known without a request? For listings, `doctor` and `list --all`. */
#ifndef SANDLOT_SESSION_READINESS_H
#define SANDLOT_SESSION_READINESS_H

#include "session/runtime.h"

/* Why not, and what to do, to be freed; NULL: it can. Runs no code of the provider. */
char *readiness_problem(const struct registry_entry *entry, const struct environment *environment);

/*
 * The same, and where all of that is well a provider that alone knows where its credentials are looks for them: one
 * that ships with Sandlot, or one that was NAMED. Warns of bad parameters in the configuration.
 */
char *readiness_check(const struct sandlot *sandlot, const struct registry_entry *entry, bool named);

#endif

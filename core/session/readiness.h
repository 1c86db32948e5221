/* Can a provider be used, as far as that is known without a request? For listings, `doctor` and `list --all`. */
#ifndef SANDLOT_SESSION_READINESS_H
#define SANDLOT_SESSION_READINESS_H

#include "session/runtime.h"

/*
 * Why not, and what to do, to be freed; NULL: it can. What the provider declares decides, without any code of it; and
 * where all of that is well, one that alone knows where its credentials are looks for them, if it ships with Sandlot or
 * was NAMED. Warns of bad parameters in the configuration.
 */
char *readiness_check(const struct sandlot *sandlot, const struct registry_entry *entry, bool named);

/* Fails where a variable is not set without which nothing works at PROVIDER, and names all that would do. */
int readiness_check_credentials(const struct provider *provider, struct sandlot_error *error);

#endif

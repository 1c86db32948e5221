/* What the lifecycle calls without a session share. */
#ifndef SANDLOT_SESSION_LIFECYCLE_H
#define SANDLOT_SESSION_LIFECYCLE_H

#include "session/runtime.h"

/* Each of them ends within this. */
enum { LIFECYCLE_MS = 10 * 60 * 1000 };

/* Loads the provider of TARGET for work on ID, which is a WHAT and must not be empty. NULL on error. */
struct provider *lifecycle_load(struct sandlot *sandlot, const struct sandlot_target *target, const char *id,
                                const char *what, int *cancel_fd, struct sandlot_error *error);

/* Who of this machine's providers has CAPABILITY, as "a, b"; to be freed. NULL: nobody. */
char *lifecycle_who_can(const struct sandlot *sandlot, enum capability capability);

/* SANDLOT_CODE_NOT_SUPPORTED: PROVIDER cannot do WHAT, which takes CAPABILITY; names those that can. -1. */
int lifecycle_unsupported(const struct sandlot *sandlot, const struct provider *provider, enum capability capability,
                          const char *what, struct sandlot_error *error);

#endif

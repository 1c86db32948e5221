/* Addresses of 198.18.0.0/15 that stand for names, so that a program which knows no proxy can say where it wants to. */
#ifndef SANDLOT_EGRESS_ALIASES_H
#define SANDLOT_EGRESS_ALIASES_H

#include "host.h"

#include <stdint.h>

/* Of more names than these the oldest are forgotten; their addresses then stand for nothing, until the range is through
 * and they come round again. */
enum { ALIASES = 1024 };

struct aliases {
    struct host *names; /* ALIASES of them; NULL: none yet */
    uint64_t given;     /* how many addresses there have been */
};

/* The address that stands for HOST, a name, in *VALUE. False: memory is short. */
bool aliases_give(struct aliases *aliases, const struct host *host, address *value);

/* The name that VALUE stands for, NULL: none. */
const struct host *aliases_find(const struct aliases *aliases, const address *value);

#endif

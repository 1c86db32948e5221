/* Changes that stand or fall together: a path that turns from a folder into something else, or the other way round, and
 * what lies below it. */
#ifndef SANDLOT_RESULTS_ROOM_H
#define SANDLOT_RESULTS_ROOM_H

#include "results/judge.h"

/* The change above PATH that makes a folder of something else, or something else of a folder: there is one at most.
 * NULL: there is none. The changes must be in the order of their paths. */
const struct change *room_maker(const struct results *results, const char *path);

/* What came or went only because of such a change is not taken over without it: half of a replacement loses what the
 * other half had. The changes must be in the order of their paths, and judged. 0 or -1. */
int room_judge(struct results *results, struct sandlot_error *error);

#endif

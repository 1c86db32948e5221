/* Bringing what has changed into a folder of this machine. */
#ifndef SANDLOT_RESULTS_APPLY_H
#define SANDLOT_RESULTS_APPLY_H

#include "results/judge.h"

/* As sandlot_apply_changes, of changes that were gathered with JUDGE_ALL. */
int apply_write(struct results *results,
                bool (*each)(void *context, const struct sandlot_change *change, const struct sandlot_error *problem),
                void *context, struct sandlot_error *error);

#endif

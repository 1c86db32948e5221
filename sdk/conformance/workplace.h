/* The private folder of a run: configuration, ledger, and what the groups put down. */
#ifndef SANDLOT_CONFORMANCE_WORKPLACE_H
#define SANDLOT_CONFORMANCE_WORKPLACE_H

#include "kit.h"

/* Makes the folder, and has the library keep its state there. False: that was told on standard error. */
bool workplace_make(struct kit *kit);

void workplace_remove(const struct kit *kit);

#endif

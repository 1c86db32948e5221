/* Checks of what keeps a sandbox's files: pausing, snapshots, forks; each where the note says that it is there. */
#ifndef SANDLOT_CONFORMANCE_KEPT_H
#define SANDLOT_CONFORMANCE_KEPT_H

#include "live.h"

void check_kept(const struct live *live);

#endif

/* Snapshots: the state of a sandbox under a name, to start others from. */
#ifndef SANDLOT_DAYTONA_SNAPSHOTS_H
#define SANDLOT_DAYTONA_SNAPSHOTS_H

#include "api.h"

#include <sandlot/provider.h>

enum sandlot_status snapshots_make(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                   const struct sandlot_sink *result);
enum sandlot_status snapshots_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing);
enum sandlot_status snapshots_delete(struct sandlot_call *call, void *provider, const char *name);

/* NAME cannot be started from. If that is because nobody used it for a while, it is made usable again: *ACTIVE. */
enum sandlot_status snapshots_activate(struct sandlot_call *call, struct daytona *daytona, const char *name,
                                       bool *active);

#endif

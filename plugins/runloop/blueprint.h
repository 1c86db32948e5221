/* What a devbox starts from. */
#ifndef SANDLOT_RUNLOOP_BLUEPRINT_H
#define SANDLOT_RUNLOOP_BLUEPRINT_H

#include "api.h"

/* At most one is not NULL. All are to be freed. */
struct origin {
    char *blueprint_id;
    char *blueprint_name;
    char *snapshot_id;
};

/*
 * From the environment, REQUEST and the parameters. A name is that of a blueprint, else of a disk snapshot; where there
 * is neither, a blueprint is built. ORIGIN is to be cleared, whatever is returned.
 */
enum sandlot_status blueprint_find_origin(struct sandlot_call *call, struct runloop *runloop,
                                          const struct sandlot_create *request, struct origin *origin);

void origin_clear(struct origin *origin);

#define AUTO_ORIGIN CLEANUP(origin_clear)

#endif

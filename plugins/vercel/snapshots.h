/* Snapshots. They have ids and no names. */
#ifndef SANDLOT_VERCEL_SNAPSHOTS_H
#define SANDLOT_VERCEL_SNAPSHOTS_H

#include "sandbox.h"

/* Keeps the state of sandbox NAME. *ID: of the snapshot, to be freed. Ends the session; the next use begins another. */
enum sandlot_status snapshots_take(struct sandlot_call *call, struct vercel *vercel, const char *name, char **id);

enum sandlot_status snapshots_make(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                   const struct sandlot_sink *result);
enum sandlot_status snapshots_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing);
enum sandlot_status snapshots_delete(struct sandlot_call *call, void *provider, const char *name);

#endif

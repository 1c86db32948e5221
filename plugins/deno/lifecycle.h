/* The life of sandboxes without a handle, and snapshots. */
#ifndef SANDLOT_DENO_LIFECYCLE_H
#define SANDLOT_DENO_LIFECYCLE_H

#include "api.h"

enum sandlot_status lifecycle_delete(struct sandlot_call *call, void *provider, const char *id);
enum sandlot_status lifecycle_snapshot(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                       const struct sandlot_sink *result);
enum sandlot_status lifecycle_list_snapshots(struct sandlot_call *call, void *provider, const char *cursor,
                                             const struct sandlot_listing *listing);
enum sandlot_status lifecycle_delete_snapshot(struct sandlot_call *call, void *provider, const char *name);

#endif

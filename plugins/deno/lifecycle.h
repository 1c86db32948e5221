/* The life of sandboxes without a handle, and snapshots. */
#ifndef SANDLOT_DENO_LIFECYCLE_H
#define SANDLOT_DENO_LIFECYCLE_H

#include "api.h"

/* The id of the running sandbox with RUN_LABEL, "" if there is none. */
enum sandlot_status lifecycle_find(struct sandlot_call *call, struct deno *deno, const char *run_label,
                                   char id[ID_SIZE]);

/* Is sandbox ID not running (any more)? *GONE stays as it is if that cannot be told. For refusals that may mean it. */
void lifecycle_look(struct sandlot_call *call, struct deno *deno, const char *id, bool *gone);

enum sandlot_status lifecycle_delete(struct sandlot_call *call, void *provider, const char *id);
enum sandlot_status lifecycle_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing);
enum sandlot_status lifecycle_snapshot(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                       const struct sandlot_sink *result);
enum sandlot_status lifecycle_list_snapshots(struct sandlot_call *call, void *provider, const char *cursor,
                                             const struct sandlot_listing *listing);
enum sandlot_status lifecycle_delete_snapshot(struct sandlot_call *call, void *provider, const char *name);

#endif

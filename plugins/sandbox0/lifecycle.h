/* What is done with sandboxes by their ids, and with what is kept of them. */
#ifndef SANDBOX0_LIFECYCLE_H
#define SANDBOX0_LIFECYCLE_H

#include "sandbox.h"

enum sandlot_status lifecycle_delete(struct sandlot_call *call, void *provider, const char *id);
enum sandlot_status lifecycle_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing);
enum sandlot_status lifecycle_pause(struct sandlot_call *call, void *provider, const char *id);
enum sandlot_status lifecycle_resume(struct sandlot_call *call, void *provider, const char *id);
enum sandlot_status lifecycle_fork(struct sandlot_call *call, void *provider, const char *id,
                                   const struct sandlot_create *request);

enum sandlot_status snapshot_make(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                  const struct sandlot_sink *result);
enum sandlot_status snapshot_list(struct sandlot_call *call, void *provider, const char *cursor,
                                  const struct sandlot_listing *listing);
enum sandlot_status snapshot_delete(struct sandlot_call *call, void *provider, const char *name);

#endif

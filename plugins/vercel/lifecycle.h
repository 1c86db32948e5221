/* Deleting, listing, pausing, resuming and forking sandboxes. */
#ifndef SANDLOT_VERCEL_LIFECYCLE_H
#define SANDLOT_VERCEL_LIFECYCLE_H

#include "sandbox.h"

enum sandlot_status lifecycle_delete(struct sandlot_call *call, void *provider, const char *id);
enum sandlot_status lifecycle_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing);
enum sandlot_status lifecycle_pause(struct sandlot_call *call, void *provider, const char *id);
enum sandlot_status lifecycle_resume(struct sandlot_call *call, void *provider, const char *id);
enum sandlot_status lifecycle_fork(struct sandlot_call *call, void *provider, const char *id,
                                   const struct sandlot_create *request);

#endif

/* Listing, deleting, pausing and copying sandboxes; their snapshots. */
#ifndef SANDLOT_E2B_LIFECYCLE_H
#define SANDLOT_E2B_LIFECYCLE_H

#include "record.h"

enum sandlot_status lifecycle_delete(struct sandlot_call *call, void *provider, const char *id);
enum sandlot_status lifecycle_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing);
enum sandlot_status lifecycle_pause(struct sandlot_call *call, void *provider, const char *id);
enum sandlot_status lifecycle_resume(struct sandlot_call *call, void *provider, const char *id);
enum sandlot_status lifecycle_fork(struct sandlot_call *call, void *provider, const char *id,
                                   const struct sandlot_create *request);

enum sandlot_status snapshots_make(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                   const struct sandlot_sink *result);
enum sandlot_status snapshots_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing);
enum sandlot_status snapshots_delete(struct sandlot_call *call, void *provider, const char *name);

#endif

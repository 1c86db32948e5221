/* Listing, deleting, pausing and resuming. */
#ifndef SANDLOT_KUBERNETES_LIFECYCLE_H
#define SANDLOT_KUBERNETES_LIFECYCLE_H

#include "api.h"

enum sandlot_status lifecycle_delete(struct sandlot_call *call, void *provider, const char *id);
enum sandlot_status lifecycle_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing);
enum sandlot_status lifecycle_pause(struct sandlot_call *call, void *provider, const char *id);
enum sandlot_status lifecycle_resume(struct sandlot_call *call, void *provider, const char *id);

#endif

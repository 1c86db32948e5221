/* Listing and deleting sessions. */
#ifndef SANDLOT_AGENTCORE_LIFECYCLE_H
#define SANDLOT_AGENTCORE_LIFECYCLE_H

#include "sandbox.h"

enum sandlot_status lifecycle_delete(struct sandlot_call *call, void *provider, const char *id);
enum sandlot_status lifecycle_list(struct sandlot_call *call, void *provider, const char *cursor,
                                   const struct sandlot_listing *listing);

/* The id, to be freed, of the session called NAME; NULL: there is none. */
enum sandlot_status lifecycle_find(struct sandlot_call *call, struct agentcore *agentcore, const char *name, char **id);

#endif

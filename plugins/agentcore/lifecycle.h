/* Listing and deleting sessions. */
#ifndef SANDLOT_AGENTCORE_LIFECYCLE_H
#define SANDLOT_AGENTCORE_LIFECYCLE_H

#include "sandbox.h"

FUNCTION_OF(sandlot_provider, delete_sandbox, lifecycle_delete);
FUNCTION_OF(sandlot_provider, list, lifecycle_list);

/* The id, to be freed, of the session called NAME; NULL: there is none. */
enum sandlot_status lifecycle_find(struct sandlot_call *call, struct agentcore *agentcore, const char *name, char **id);

#endif

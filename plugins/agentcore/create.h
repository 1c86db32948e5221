/* Making a session. */
#ifndef SANDLOT_AGENTCORE_CREATE_H
#define SANDLOT_AGENTCORE_CREATE_H

#include "api.h"

/* Starts a session; its id to *ID, to be freed. Tells the host of it. */
enum sandlot_status create_session(struct sandlot_call *call, struct agentcore *agentcore,
                                   const struct sandlot_create *request, char **id);

#endif

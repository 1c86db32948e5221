/* Connections to ports of a sandbox through its tunnel, which carries any bytes. */
#ifndef SANDLOT_LANGSMITH_TUNNEL_H
#define SANDLOT_LANGSMITH_TUNNEL_H

#include "sandbox.h"

/* As connect_port of the ABI. *MISSING: this deployment has no tunnel; then nobody has been told anything. */
enum sandlot_status tunnel_connect(struct sandlot_call *call, struct sandbox *sandbox,
                                   const struct sandlot_connection *connection, bool *missing);

#endif

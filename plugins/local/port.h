/* Connections to servers in a box, through sockets of its network namespace. */
#ifndef SANDLOT_LOCAL_PORT_H
#define SANDLOT_LOCAL_PORT_H

#include "sandbox.h"

enum sandlot_status port_connect(struct sandbox *sandbox, struct sandlot_call *call,
                                 const struct sandlot_connection *connection);

#endif

/* Ports of containers. */
#ifndef SANDLOT_DOCKER_PORT_H
#define SANDLOT_DOCKER_PORT_H

#include <sandlot/sdk/function_of.h>

/* connect_port of the table. */
FUNCTION_OF(sandlot_provider, connect_port, port_connect);

#endif

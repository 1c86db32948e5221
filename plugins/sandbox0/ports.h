/* Where Sandbox0 has the ports of a sandbox. */
#ifndef SANDBOX0_PORTS_H
#define SANDBOX0_PORTS_H

#include "sandbox.h"

FUNCTION_OF(http_relay, find, ports_find);

#endif

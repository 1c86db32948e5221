/* Where E2B has the ports of a sandbox. */
#ifndef SANDLOT_E2B_PORTS_H
#define SANDLOT_E2B_PORTS_H

#include "sandbox.h"

/* As `find` of struct http_relay. */
FUNCTION_OF(http_relay, find, ports_find);

#endif

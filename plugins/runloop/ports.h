/* Where Runloop has the ports of a devbox. */
#ifndef SANDLOT_RUNLOOP_PORTS_H
#define SANDLOT_RUNLOOP_PORTS_H

#include "sandbox.h"

/* As `find` of struct http_relay. */
FUNCTION_OF(http_relay, find, ports_find);

#endif

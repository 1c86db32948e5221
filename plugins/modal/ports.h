/* Where Modal has the ports of a sandbox: "connect tokens". */
#ifndef SANDLOT_MODAL_PORTS_H
#define SANDLOT_MODAL_PORTS_H

#include "sandbox.h"

/* As `find` of struct http_relay. */
FUNCTION_OF(http_relay, find, ports_find);

#endif

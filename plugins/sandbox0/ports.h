/* Where Sandbox0 has the ports of a sandbox. */
#ifndef SANDBOX0_PORTS_H
#define SANDBOX0_PORTS_H

#include "sandbox.h"

/* As `find` of struct http_relay. */
enum sandlot_status ports_find(struct sandlot_call *call, void *provider, void *handle, uint16_t port, int64_t ttl_ms,
                               struct http_relay_place *place);

#endif

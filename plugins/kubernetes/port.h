/* Ports of pods. */
#ifndef SANDLOT_KUBERNETES_PORT_H
#define SANDLOT_KUBERNETES_PORT_H

#include <sandlot/provider.h>

/* connect_port of the table. */
enum sandlot_status port_connect(struct sandlot_call *call, void *provider, void *sandbox,
                                 const struct sandlot_connection *connection);

#endif

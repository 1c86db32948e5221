/*
 * Memory of a box's namespaces that belongs to no process, by the descriptors that its init has opened in them (box.h).
 * Nothing here allocates memory, for the reason that walk.h gives, and one thread at a time may use it.
 */
#ifndef SANDLOT_LOCAL_GAUGES_H
#define SANDLOT_LOCAL_GAUGES_H

#include "../box/box.h"

/* Bytes of System V objects, which stay until the box ends or a command removes them. */
uint64_t gauges_system_v(const int gauges[BOX_GAUGES]);

/* Bytes in the queues of sockets, which go with the last process that has the socket. Takes as long as there are
 * boxes. */
uint64_t gauges_sockets(const int gauges[BOX_GAUGES]);

/* Of these, what waits in sockets of netlink. */
uint64_t gauges_netlink(const int gauges[BOX_GAUGES]);

#endif

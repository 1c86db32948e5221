/* Routes of a network namespace, by rtnetlink(7): reading what is the machine's own, and where networks lead. */
#ifndef SANDLOT_LOCAL_ROUTES_H
#define SANDLOT_LOCAL_ROUTES_H

#include "../egress/address.h"

#include <stdint.h>

/* What was read of one route. */
struct route {
    address network;
    unsigned bits;   /* of the mapped form */
    bool own;        /* its addresses are of this machine: local ones, broadcast, anycast */
    bool by_default; /* it leads to all that no other route leads to */
};

/* A socket for the network namespace that the calling thread is in, also when the thread leaves it. It hears of every
 * route that comes. -1 with errno. */
int routes_open(void);

/* Asks for all routes there are, which routes_hear then tells. 0, or -1 with errno. */
int routes_ask(int fd);

/*
 * Waits until DEADLINE_MS (CLOCK_MONOTONIC; 0: not at all) for the next message and calls TAKE for each route in it.
 * *ALL: what routes_ask asked for has been told. 0; -1 with errno: EAGAIN if nothing came, ENOBUFS if something was
 * lost, ECANCELED if TAKE said false.
 */
int routes_hear(int fd, int64_t deadline_ms, bool (*take)(void *context, const struct route *route), void *context,
                bool *all);

/* Makes NETWORK unreachable in the namespace of FD, before every route but more special ones, of version 6 before
 * these too. 0, also if it was already or the kernel does not speak its version; -1 with errno. */
int routes_refuse(int fd, const address *network, unsigned bits);

enum route_change { ROUTE_ADD, ROUTE_REMOVE };

/* Makes every address of NETWORK one of this machine's own, in the namespace of FD, or no longer. 0, also if it was so
 * already; -1 with errno. */
int routes_take_in(int fd, enum route_change wanted, const address *network, unsigned bits);

/* Has NETWORK reached by GATEWAY, which is of the same version, or no longer. Likewise. */
int routes_lead(int fd, enum route_change wanted, const address *network, unsigned bits, const address *gateway);

#endif

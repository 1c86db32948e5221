/*
 * Stand-ins, for tests: a program built with SANDLOT_EGRESS_STAND_INS reads the table "stand-ins" beside it, whose
 * lines say what names resolve to, and where a connection to a public address goes instead:
 *
 *   name NAME ADDRESS...     the resolver's answer; "never" instead of addresses: there comes none
 *   dial ADDRESS:PORT PORT   connect to that port of 127.0.0.1; the address was checked before
 *   idle MILLISECONDS        how long nothing may move
 *   log none                 no decision is written down, for what that costs
 *
 * Every other build has none of this, and nothing that could switch it on.
 */
#ifndef SANDLOT_EGRESS_STAND_IN_H
#define SANDLOT_EGRESS_STAND_IN_H

#include "host.h"

#ifdef SANDLOT_EGRESS_STAND_INS

/* Reads the table, before the program is confined. */
void stand_in_open(void);

/* Is NAME in the table? Then its addresses too. */
bool stand_in_names(const char *name, address *addresses, size_t most, uint32_t *count);

/* Replaces where a connection goes. */
void stand_in_dial(address *value, uint16_t *port);

/* How long nothing may move, where it would be LIMIT_MS. */
int64_t stand_in_idle(int64_t limit_ms);

/* Is the log written? */
bool stand_in_logs(void);

#else

static inline void stand_in_open(void)
{
}

static inline bool stand_in_names(const char *name, const address *addresses, size_t most, const uint32_t *count)
{
    (void)name, (void)addresses, (void)most, (void)count;
    return false;
}

static inline int64_t stand_in_idle(int64_t limit_ms)
{
    return limit_ms;
}

static inline bool stand_in_logs(void)
{
    return true;
}

static inline void stand_in_dial(const address *value, const uint16_t *port)
{
    (void)value, (void)port;
}

#endif
#endif

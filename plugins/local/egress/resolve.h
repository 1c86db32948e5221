/*
 * Names become addresses in a process of its own: the proxy itself has neither files nor the right to open any. It asks
 * through a socket of packets and gets, with the addresses, those of this machine's own interfaces as they are now.
 */
#ifndef SANDLOT_EGRESS_RESOLVE_H
#define SANDLOT_EGRESS_RESOLVE_H

#include "host.h"

enum { RESOLVE_ADDRESSES = 16, RESOLVE_OWN = 128, RESOLVE_LIMIT_MS = 8000, RESOLVE_ASKED = 64 };

struct resolve_question {
    uint32_t query; /* comes back with the answer */
    char name[HOST_SIZE];
};

struct resolve_answer {
    uint32_t query;
    uint32_t count; /* 0: there is no such name, or no answer in time */
    uint32_t own_count;
    uint32_t own_known; /* 0: the machine's own addresses could not be read */
    address addresses[RESOLVE_ADDRESSES];
    address own[RESOLVE_OWN];
};

/* Starts the helper, which ends with this process. The socket to it, or -1. */
int resolve_start(void);

/* Asks; at most RESOLVE_ASKED questions may be without an answer. False: the helper is gone. */
bool resolve_ask(int socket, uint32_t query, const struct host *host);

/* An answer that has come, one to each question. 0: there is none; -1: the helper is gone. */
int resolve_take(int socket, struct resolve_answer *answer);

/* Is VALUE an address of this machine, as ANSWER says? */
bool resolve_is_own(const struct resolve_answer *answer, const address *value);

#endif

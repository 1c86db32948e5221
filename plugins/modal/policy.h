/*
 * What a sandbox may reach, as Modal's NetworkAccess: open, blocked, or a list of networks and one of domains. There
 * are no ports, and nothing is added to requests.
 */
#ifndef SANDLOT_MODAL_POLICY_H
#define SANDLOT_MODAL_POLICY_H

#include "sandbox.h"

#include <sandlot/sdk/network.h>

/* What the lists of a message live in. Zero at the beginning, to be cleared in any case. */
struct policy_lists {
    char **texts; /* first the networks, then the domains */
    size_t count;
};

void policy_lists_clear(struct policy_lists *lists);

/* Refuses what Modal cannot hold, without a request. NETWORK NULL: SANDLOT_OK. */
enum sandlot_status policy_check(struct sandlot_call *call, const struct modal *modal,
                                 const struct sandlot_network *network);

/* Fills ACCESS, which points into LISTS, after policy_check. */
enum sandlot_status policy_write(struct sandlot_call *call, const struct sandlot_network *network,
                                 struct policy_lists *lists, Modal__NetworkAccess *access);

/* For the table of the provider. */
FUNCTION_OF(sandlot_provider, set_network, policy_change);

#endif

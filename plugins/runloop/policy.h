/*
 * What a devbox may reach. At Runloop that is a thing of the account with an id, which a devbox is made with: so one is
 * made for each different policy, named by a digest of what it says, used by all that ask for the same, and deleted
 * with the last of them. Names are open on every port; nothing can be changed for a devbox that lives.
 */
#ifndef SANDLOT_RUNLOOP_POLICY_H
#define SANDLOT_RUNLOOP_POLICY_H

#include "api.h"

#include <sandlot/sdk/network.h>

/* Refuses what Runloop cannot hold, without a request. NETWORK NULL: SANDLOT_OK. */
enum sandlot_status policy_check(struct sandlot_call *call, const struct runloop *runloop,
                                 const struct sandlot_network *network);

/* Finds or makes the policy that says NETWORK, after policy_check. *ID: to be freed; stays NULL if NETWORK is. */
enum sandlot_status policy_find(struct sandlot_call *call, struct runloop *runloop,
                                const struct sandlot_network *network, char **id);

/* A devbox with the policy ID has ended: deletes that, if it is of our making and nobody else lives with it. What goes
 * wrong is only told: the devbox is gone in any case. */
void policy_collect(struct sandlot_call *call, struct runloop *runloop, const char *id);

#endif

/*
 * What a sandbox may reach, in E2B's words: `allow_internet_access`, or lists in `network`, of which those that allow
 * go before those that deny. Names are seen on ports 80 and 443 alone; addresses are open on every port.
 */
#ifndef SANDLOT_E2B_POLICY_H
#define SANDLOT_E2B_POLICY_H

#include "sandbox.h"

#include <sandlot/sdk/network.h>

/* Refuses what E2B cannot hold, without a request. */
enum sandlot_status policy_check(struct sandlot_call *call, const struct e2b *e2b,
                                 const struct sandlot_network *network);

/* Into the BODY of a creation, after policy_check. NETWORK NULL: nothing. */
void policy_set(struct json_builder *body, const struct sandlot_network *network);

/* For the table of the provider. */
FUNCTION_OF(sandlot_provider, set_network, policy_change);

#endif

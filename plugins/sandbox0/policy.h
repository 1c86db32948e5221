/*
 * What a sandbox may reach, as Sandbox0's `network`: a mode, and traffic rules of which the first that fits counts.
 * Questions for names pass before any rule, so nothing at all cannot be had.
 */
#ifndef SANDBOX0_POLICY_H
#define SANDBOX0_POLICY_H

#include "sandbox.h"

#include <sandlot/sdk/network.h>

/* Refuses what Sandbox0 cannot hold, without a request. NETWORK NULL: SANDLOT_OK. */
enum sandlot_status policy_check(struct sandlot_call *call, const struct sandbox0 *sandbox0,
                                 const struct sandlot_network *network);

/* Writes the policy to the empty builder POLICY, after policy_check, without its credentials; to be put. */
void policy_write(struct json_builder *policy, const struct sandlot_network *network);

/* Gives sandbox ID, which may sleep, the policy NETWORK, whose credentials it did not have before. */
enum sandlot_status policy_put(struct sandlot_call *call, struct sandbox0 *sandbox0, const char *id,
                               const struct sandlot_network *network);

FUNCTION_OF(sandlot_provider, set_network, policy_change);

#endif

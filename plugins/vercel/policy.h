/*
 * What a sandbox may reach, as Vercel's `networkPolicy`. Hosts are read from the name that TLS begins with, on every
 * port, and so not for plain HTTP; addresses are open on every port. A host with a header to add is open by that alone.
 */
#ifndef SANDLOT_VERCEL_POLICY_H
#define SANDLOT_VERCEL_POLICY_H

#include "sandbox.h"

#include <sandlot/sdk/network.h>

/* Refuses what Vercel cannot hold, without a request; then its secrets are in no message. NETWORK NULL: SANDLOT_OK. */
enum sandlot_status policy_check(struct sandlot_call *call, struct vercel *vercel,
                                 const struct sandlot_network *network);

/* `networkPolicy` of BODY, after policy_check. */
void policy_set(struct json_builder *body, const struct sandlot_network *network);

/* For the table of the provider. */
FUNCTION_OF(sandlot_provider, set_network, policy_change);

#endif

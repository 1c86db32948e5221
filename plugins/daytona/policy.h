/*
 * What a sandbox may reach: `networkBlockAll`, or a list of networks and a list of domains, each with commas between.
 * There are no ports. Servers of one's own keep the list of domains and enforce nothing of it.
 */
#ifndef SANDLOT_DAYTONA_POLICY_H
#define SANDLOT_DAYTONA_POLICY_H

#include "api.h"

#include <sandlot/sdk/network.h>

/* Refuses what Daytona cannot hold, without a request. NETWORK NULL: SANDLOT_OK. */
enum sandlot_status policy_check(struct sandlot_call *call, const struct daytona *daytona,
                                 const struct sandlot_network *network);

/* Into the BODY of a creation, after policy_check. */
void policy_set(struct json_builder *body, const struct sandlot_network *network);

/* For the table of the provider. */
FUNCTION_OF(sandlot_provider, set_network, policy_change);

#endif

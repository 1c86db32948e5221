/* What a container may reach: the engine knows none of its networks, or one of them, and nothing in between. */
#ifndef SANDLOT_DOCKER_POLICY_H
#define SANDLOT_DOCKER_POLICY_H

#include "engine.h"

#include <sandlot/sdk/network.h>

/* Refuses what an engine cannot hold, without a request. NETWORK NULL: SANDLOT_OK. */
enum sandlot_status policy_check(struct sandlot_call *call, const struct parameters *wanted,
                                 const struct sandlot_network *network);

/* The engine's network for that, after policy_check: NETWORK, or what the parameters want. */
const char *policy_network(const struct parameters *wanted, const struct sandlot_network *network);

#endif

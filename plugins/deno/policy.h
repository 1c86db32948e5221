/*
 * What a sandbox may reach, as Deno's `allow_net`: hosts with and without a port, and wildcards, of which one port
 * cannot be said. Fixed when a sandbox is made.
 */
#ifndef SANDLOT_DENO_POLICY_H
#define SANDLOT_DENO_POLICY_H

#include "api.h"

#include <sandlot/sdk/network.h>

/* Refuses what Deno cannot hold, without a request. NETWORK NULL: SANDLOT_OK. */
enum sandlot_status policy_check(struct sandlot_call *call, const struct deno *deno,
                                 const struct sandlot_network *network);

/* `allow_net` of CONFIG, after policy_check; for an open network there is none. */
void policy_set(struct json_builder *config, const struct sandlot_network *network);

#endif

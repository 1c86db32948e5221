/*
 * What a sandbox may reach, as LangSmith's `proxy_config`: patterns of hosts and networks that are let through, and
 * rules that add headers. There are no ports, and no word for nothing at all: an empty list is not known to be that.
 */
#ifndef SANDLOT_LANGSMITH_POLICY_H
#define SANDLOT_LANGSMITH_POLICY_H

#include "sandbox.h"

#include <sandlot/sdk/network.h>

/* Refuses what LangSmith cannot hold, without a request; then its secrets are in no message. NETWORK NULL: SANDLOT_OK.
 */
enum sandlot_status policy_check(struct sandlot_call *call, struct api *api, const struct sandlot_network *network);

/* `proxy_config` of BODY, after policy_check. */
void policy_set(struct json_builder *body, const struct sandlot_network *network);

/* For the table of the provider. */
FUNCTION_OF(sandlot_provider, set_network, policy_change);

#endif

/* The NetworkPolicy that keeps pods from the network. */
#ifndef SANDLOT_KUBERNETES_POLICY_H
#define SANDLOT_KUBERNETES_POLICY_H

#include "api.h"

#include <sandlot/sdk/network.h>

#define POLICY_GROUP "networking.k8s.io/v1"
#define POLICY_PLURAL "networkpolicies"

/* Sees to it that the namespace denies everything to pods with the label sandlot-network=none, anew before each
 * of them: what was seen before another may have been changed since. One policy serves all of them, for ever. */
enum sandlot_status policy_ensure(struct sandlot_call *call, struct kubernetes *kubernetes);

/* Refuses what cannot be held, without a request. NETWORK NULL: SANDLOT_OK. */
enum sandlot_status policy_check(struct sandlot_call *call, const struct parameters *parameters,
                                 const struct sandlot_network *network);

/* For the table of the provider. */
enum sandlot_status policy_change(struct sandlot_call *call, void *provider, void *handle,
                                  const struct sandlot_network *network);

/* The word of the parameter `network` for that, after policy_check: NETWORK, or what the parameters say. */
const char *policy_word(const struct parameters *parameters, const struct sandlot_network *network);

#endif

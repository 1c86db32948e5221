/* The NetworkPolicy that keeps pods from the network. */
#ifndef SANDLOT_KUBERNETES_POLICY_H
#define SANDLOT_KUBERNETES_POLICY_H

#include "api.h"

/* Sees to it that the namespace denies everything to pods with the label sandlot-network=none, and that before there is
 * such a pod. One policy serves all of them, for ever. */
enum sandlot_status policy_ensure(struct sandlot_call *call, struct kubernetes *kubernetes);

#endif

/* The addresses that one pod may reach, where sandlot-deny-all denies it everything else. */
#ifndef SANDLOT_KUBERNETES_ALLOW_H
#define SANDLOT_KUBERNETES_ALLOW_H

#include "api.h"

#include <sandlot/sdk/network.h>

/* Refuses entries that no NetworkPolicy can hold, without a request. */
enum sandlot_status allow_check(struct sandlot_call *call, const struct sandlot_network *network);

/* Opens to POD, as its creation or a look at it told, what NETWORK lists. Until then it reaches nothing. */
enum sandlot_status allow_make(struct sandlot_call *call, struct kubernetes *kubernetes,
                               const struct sandlot_network *network, struct json_object *pod);

/* Gives the living pod NAME, which Sandlot made, what NETWORK says, and nothing else. */
enum sandlot_status allow_change(struct sandlot_call *call, struct kubernetes *kubernetes,
                                 const struct sandlot_network *network, const char *name);

#endif

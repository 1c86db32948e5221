#include "policy.h"

#include <string.h>

#define NO_NETWORK "none"      /* the loopback alone */
#define USUAL_NETWORK "bridge" /* what an engine gives when nobody says anything */

enum sandlot_status policy_check(struct sandlot_call *call, const struct parameters *wanted,
                                 const struct sandlot_network *network)
{
    enum sandlot_status status = network_exclude(call, network, "network", strcmp(wanted->network, NO_NETWORK) != 0);

    if (status == SANDLOT_OK && network && (network->mode == SANDLOT_NETWORK_ALLOW || network->credential_count > 0))
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "a container engine knows no list of hosts and adds nothing to requests; use off or open");
    return status;
}

const char *policy_network(const struct parameters *wanted, const struct sandlot_network *network)
{
    if (!network)
        return wanted->network;
    return network->mode == SANDLOT_NETWORK_OPEN ? USUAL_NETWORK : NO_NETWORK;
}

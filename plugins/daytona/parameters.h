/* What a user may say of a sandbox at Daytona. */
#ifndef SANDLOT_DAYTONA_PARAMETERS_H
#define SANDLOT_DAYTONA_PARAMETERS_H

#include <sandlot/provider.h>
#include <sandlot/sdk/parameters.h>

#define DAYTONA_PARAMETERS(P)                                                                                  \
    P(string, image, "", optional, "container image to start from, such as python:3.12; not with snapshot")    \
    P(string, snapshot, "", optional, "snapshot to start from, by name or id; default: the organization's")    \
    P(string, target, "", optional, "region; default: DAYTONA_TARGET, else the organization's")                \
    P(string, user, "", optional, "user that commands run as; default: the image's")                           \
    P(integer, cpu, "", optional, "processors, with image only: a snapshot fixes them")                        \
    P(integer, memory_gb, "", optional, "memory in GiB, with image only")                                      \
    P(integer, disk_gb, "", optional, "disk space in GiB, with image only")                                    \
    P(integer, gpu, "", optional, "graphics processors, with image only")                                      \
    P(table, environment, "", optional, "variables that every command in the sandbox sees")                    \
    P(table, secrets, "", optional, "variables with the names of Daytona secrets that become their values")    \
    P(array, volumes, "", optional, "volumes to mount: tables with volumeId, mountPath and perhaps subpath")   \
    P(boolean, public, "false", optional, "let anybody who knows the address reach ports of the sandbox")      \
    P(boolean, network_block, "false", optional, "let nothing in the sandbox reach the network")               \
    P(string, network_allow_list, "", optional, "networks that the sandbox may reach, as CIDR, comma between") \
    P(string, domain_allow_list, "", optional, "domains that the sandbox may reach, comma between")            \
    P(boolean, trust_domain_list, "false", optional,                                                           \
      "a server of one's own enforces lists of domains, which the open one does not")                          \
    P(string, base_url, "", optional, "address of the API; default: DAYTONA_API_URL, else https://app.daytona.io/api")

/* The same as a struct; the strings belong to the host. */
struct parameters {
    DAYTONA_PARAMETERS(PARAMETER_FIELD)
};

#endif

/* What a user may say of a devbox at Runloop. */
#ifndef SANDLOT_RUNLOOP_PARAMETERS_H
#define SANDLOT_RUNLOOP_PARAMETERS_H

#include <sandlot/provider.h>
#include <sandlot/sdk/parameters.h>

#define RUNLOOP_PARAMETERS(P)                                                                                   \
    P(string, snapshot, "", optional,                                                                           \
      "blueprint or disk snapshot to start from, by name or id; default: Runloop's own")                        \
    P(string, image, "python:3", optional, "container image that a missing blueprint is built from")            \
    P(string, size, "", optional,                                                                               \
      "X_SMALL, SMALL, MEDIUM, LARGE, X_LARGE or XX_LARGE; not with cpu_cores and the like")                    \
    P(float, cpu_cores, "", optional, "processors, for a size of your own")                                     \
    P(integer, memory_gb, "", optional, "memory in GiB, for a size of your own")                                \
    P(integer, disk_gb, "", optional, "disk space in GiB, for a size of your own")                              \
    P(string, architecture, "", optional, "x86_64 or arm64; default: Runloop's choice")                         \
    P(string, tier, "", optional, "standard or flex: cheaper, but may wait in a queue")                         \
    P(string, user, "", optional, "user that commands run as; default: user, or the blueprint's; needs uid")    \
    P(integer, uid, "", optional, "number of that user; root has 0")                                            \
    P(array, launch_commands, "", optional, "commands that run before the devbox is ready")                     \
    P(table, environment, "", optional, "variables that every command in the devbox sees")                      \
    P(table, secrets, "", optional, "variables with the names of Runloop secrets that become their values")     \
    P(table, metadata, "", optional, "metadata of the devbox at Runloop, besides Sandlot's own")                \
    P(array, mounts, "", optional, "what Runloop mounts into the devbox: tables, as its API describes them")    \
    P(string, network_policy_id, "", optional, "network policy of Runloop that says what the devbox may reach") \
    P(string, tunnel_url, "", optional,                                                                         \
      "address below which ports have their URLs; default: by base_url, https://tunnel.runloop.ai")             \
    P(string, base_url, "", optional, "address of the API; default: RUNLOOP_BASE_URL, else https://api.runloop.ai")

/* The same as a struct; the strings belong to the host. */
struct parameters {
    RUNLOOP_PARAMETERS(PARAMETER_FIELD)
};

#endif

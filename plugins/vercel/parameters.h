/* What a user may say of a Vercel sandbox. */
#ifndef SANDLOT_VERCEL_PARAMETERS_H
#define SANDLOT_VERCEL_PARAMETERS_H

#include <sandlot/provider.h>
#include <sandlot/sdk/parameters.h>

#define VERCEL_PARAMETERS(P)                                                                                           \
    P(string, image, "", optional, "container image to start from; default: Vercel's universal one, an Ubuntu")        \
    P(string, runtime, "", optional,                                                                                   \
      "older kind of sandbox on Amazon Linux: node22, node24, node26, python3.13; not with image")                     \
    P(string, snapshot, "", optional, "snapshot to start from, by its id; not with image or runtime")                  \
    P(table, source, "", secret, "Git repository or tarball to start with, as Vercel's `source`")                      \
    P(string, region, "", optional, "region; default: Vercel's, iad1")                                                 \
    P(integer, vcpus, "", optional, "processors; memory comes with them, 2048 MB each")                                \
    P(array, ports, "", optional, "ports for anybody to reach, 15 at most; sandlot port reaches these and no others")  \
    P(table, environment, "", optional, "variables that every command in the sandbox sees")                            \
    P(table, tags, "", optional, "tags of the sandbox at Vercel, besides Sandlot's own")                               \
    P(boolean, network_block, "false", optional, "let nothing in the sandbox reach the network")                       \
    P(table, network_policy, "", optional, "what the sandbox may reach, as Vercel's `networkPolicy`")                  \
    P(boolean, persistent, "false", optional, "keep the files when a session ends; Vercel bills the storage")          \
    P(integer, snapshot_expiration_s, "", optional, "snapshots of the sandbox are deleted after so long; 0: never")    \
    P(boolean, delete_snapshots, "false", optional, "delete with a sandbox those of its snapshots that no other uses") \
    P(integer, session_maximum_s, "86400", optional, "longest session that your plan allows; Hobby: 2700")             \
    P(string, base_url, "", optional,                                                                                  \
      "address of the API; default: VERCEL_SANDBOX_BASE_URL, else https://vercel.com/api")

/* The same as a struct; the strings belong to the host. */
struct parameters {
    VERCEL_PARAMETERS(PARAMETER_FIELD)
};

#endif

/* What a user may say of a sandbox at Deno. */
#ifndef SANDLOT_DENO_PARAMETERS_H
#define SANDLOT_DENO_PARAMETERS_H

#include <sandlot/sdk/parameters.h>

#define DENO_PARAMETERS(P)                                                                                           \
    P(string, region, "ord", optional, "region of a new sandbox: ord (Chicago) or ams (Amsterdam)")                  \
    P(integer, memory_mb, "1280", optional, "memory of the sandbox in MiB (768 to 4096)")                            \
    P(table, labels, "", optional, "labels of the sandbox at Deno, four at most, besides Sandlot's own")             \
    P(table, environment, "", optional, "environment variables of every command")                                    \
    P(string, root, "", optional, "bootable volume (kept) or snapshot (changes are lost) to start from")             \
    P(table, volumes, "", optional, "volumes to mount: folder in the sandbox = volume")                              \
    P(array, allow_net, "", optional, "hosts that can be reached: HOST, *.HOST, HOST:PORT; [] none; not given: all") \
    P(table, secrets, "", secret, "what Deno puts into requests: VARIABLE = {hosts = [...], value = ...}")           \
    P(boolean, public_ports, "false", optional, "ports may get URLs, which are public while the sandbox lives")      \
    P(string, org, "", optional, "organization, for a personal token; default: DENO_DEPLOY_ORG")                     \
    P(string, base_url, "", optional, "address of sandboxes, may hold {region}; default: DENO_SANDBOX_ENDPOINT")     \
    P(string, console_url, "", optional, "address of lists and volumes; default: DENO_DEPLOY_ENDPOINT, base_url")

struct parameters {
    DENO_PARAMETERS(PARAMETER_FIELD)
};

#endif

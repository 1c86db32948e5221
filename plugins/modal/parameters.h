/* What a user may say of a sandbox at Modal. */
#ifndef SANDLOT_MODAL_PARAMETERS_H
#define SANDLOT_MODAL_PARAMETERS_H

#include <sandlot/provider.h>
#include <sandlot/sdk/parameters.h>

#define WORKING_DIR "/workspace"

#define MODAL_PARAMETERS(P)                                                                                      \
    P(string, image, "python:3.13-slim", optional, "container image of a registry to start from")                \
    P(string, snapshot, "", optional, "snapshot to start from instead, by name or id (im-...)")                  \
    P(string, app, "sandlot", optional, "app that the sandboxes belong to; made if it is missing")               \
    P(string, modal_environment, "", optional, "Modal's environment; default: MODAL_ENVIRONMENT, the profile's") \
    P(string, profile, "", optional, "profile in ~/.modal.toml; default: MODAL_PROFILE, else the active one")    \
    P(string, working_dir, WORKING_DIR, optional, "absolute folder where commands start; made if it is missing") \
    P(float, cpu, "", optional, "processor cores, such as 0.5; default: Modal's")                                \
    P(integer, memory_mb, "", optional, "memory in MiB; default: Modal's")                                       \
    P(string, gpu, "", optional, "graphics processor, such as A100 or H100:2")                                   \
    P(string, regions, "", optional, "regions to run in, such as us-east, comma between")                        \
    P(string, cloud, "", optional, "cloud to run in, such as aws")                                               \
    P(table, environment, "", optional, "variables that every command in the sandbox sees")                      \
    P(array, secrets, "", optional, "names of Modal secrets that become variables")                              \
    P(table, tags, "", optional, "tags of the sandbox besides ours")                                             \
    P(boolean, network_block, "false", optional, "let nothing in the sandbox reach the network")                 \
    P(string, network_allow_list, "", optional, "networks that the sandbox may reach, as CIDR, comma between")   \
    P(string, domain_allow_list, "", optional, "domains that the sandbox may reach, comma between")              \
    P(string, base_url, "", optional, "address of the API; default: MODAL_SERVER_URL, else https://api.modal.com:443")

/* The parameters as they were given. The strings are the host's. */
struct parameters {
    MODAL_PARAMETERS(PARAMETER_FIELD)
};

#endif

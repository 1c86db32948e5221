/* What a user may say of a sandbox in a container engine. */
#ifndef SANDLOT_DOCKER_PARAMETERS_H
#define SANDLOT_DOCKER_PARAMETERS_H

#include <sandlot/provider.h>
#include <sandlot/sdk/parameters.h>

#define DOCKER_PARAMETERS(P)                                                                                          \
    P(string, image, "docker.io/library/debian:stable", optional, "image to start from")                              \
    P(string, pull, "missing", optional, "when to pull the image: missing, always or never")                          \
    P(string, platform, "", optional, "platform of the image, as os/architecture; default: the engine's")             \
    P(string, working_dir, "/workspace", optional, "where commands start; made if it is not there")                   \
    P(string, user, "", optional, "user that commands run as, as name, uid or uid:gid; default: the image's")         \
    P(string, network, "none", optional, "none, or the name of a network of the engine: bridge is the usual one")     \
    P(float, cpus, "", optional, "processors, as 1.5; default: no limit")                                             \
    P(integer, memory_mb, "", optional, "memory in MiB, without swap; default: no limit")                             \
    P(integer, processes, "1024", optional, "most processes and threads; 0: no limit")                                \
    P(integer, disk_gb, "", optional, "disk space in GiB, where the engine's storage has quotas")                     \
    P(boolean, read_only, "false", optional, "the root is read-only; /tmp and the working directory lie in memory")   \
    P(array, capabilities, "", optional, "capabilities of Linux to keep, as CHOWN; all others are dropped")           \
    P(array, security_options, "", optional, "further security options of the engine, as seccomp=unconfined")         \
    P(string, runtime, "", optional, "OCI runtime, as runsc or kata-runtime; default: the engine's")                  \
    P(string, userns, "", optional, "user namespace, in the engine's words: keep-id, host")                           \
    P(table, environment, "", optional, "variables that every command sees")                                          \
    P(table, labels, "", optional, "labels of the container, besides Sandlot's own")                                  \
    P(array, mounts, "", optional, "what the engine mounts: tables of Type, Source, Target and ReadOnly, as its API") \
    P(string, owner, "", optional, "whose volumes --volume means; default: the name of your user")                    \
    P(string, context, "", optional, "context of docker to use; default: DOCKER_HOST, DOCKER_CONTEXT, the current")   \
    P(path, cert_path, "", optional, "folder of ca.pem, cert.pem and key.pem for tcp; default: DOCKER_CERT_PATH")     \
    P(string, base_url, "", optional, "address of the engine: unix:///path, tcp://host:port or ssh://host")

/* The same as a struct; the strings belong to the host. */
struct parameters {
    DOCKER_PARAMETERS(PARAMETER_FIELD)
};

#endif

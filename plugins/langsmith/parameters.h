/* What a user may say of a LangSmith sandbox. */
#ifndef SANDLOT_LANGSMITH_PARAMETERS_H
#define SANDLOT_LANGSMITH_PARAMETERS_H

#include <sandlot/provider.h>
#include <sandlot/sdk/parameters.h>

#define LANGSMITH_PARAMETERS(P)                                                                                        \
    P(string, snapshot, "", optional, "snapshot to start from, NAME or NAME:TAG; made from image where it is missing") \
    P(string, image, "python:3", optional, "container image that a missing snapshot is made from")                     \
    P(integer, snapshot_gib, "16", optional, "disk of a snapshot that is made, in GiB (1 to 64)")                      \
    P(string, registry_id, "", optional, "id of the registry at LangSmith that holds the credentials for image")       \
    P(integer, vcpus, "", optional, "processors of the sandbox")                                                       \
    P(integer, cpu_millicores, "", optional, "the same in thousandths; wins over vcpus")                               \
    P(integer, memory_mb, "", optional, "memory of the sandbox in MiB (at most 65536)")                                \
    P(integer, disk_gib, "", optional, "disk of the sandbox in GiB (at most 64), not below the snapshot's")            \
    P(table, environment, "", optional, "environment variables of every command")                                      \
    P(string, user, "", optional, "who runs commands in the sandbox; without it root")                                 \
    P(table, labels, "", optional, "labels of the sandbox at LangSmith, besides Sandlot's own")                        \
    P(integer, delete_after_stop_s, "", optional, "a stopped sandbox is deleted after so long; 0: never")              \
    P(boolean, keep_memory, "false", optional, "a stopped sandbox resumes with its processes, not just its disk")      \
    P(table, proxy_config, "", optional, "LangSmith's rules for connections to the outside (proxy_config)")            \
    P(table, mount_config, "", optional, "what LangSmith mounts into the sandbox (mount_config)")                      \
    P(table, access_delegation, "", optional, "access to LangSmith for code in the sandbox (access_delegation)")       \
    P(string, workspace_id, "", optional, "workspace, for a key that spans several")                                   \
    P(string, base_url, "", optional, "address of the API; default: LANGSMITH_ENDPOINT, then LangSmith's own")

/* The same as a struct; the strings belong to the host. */
struct parameters {
    LANGSMITH_PARAMETERS(PARAMETER_FIELD)
};

#endif

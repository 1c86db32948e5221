/* What a user may say of a sandbox in a cluster. */
#ifndef SANDLOT_KUBERNETES_PARAMETERS_H
#define SANDLOT_KUBERNETES_PARAMETERS_H

#include <sandlot/provider.h>
#include <sandlot/sdk/parameters.h>

#define KUBERNETES_PARAMETERS(P)                                                                                       \
    P(string, image, "debian:12", optional, "container image of a pod; needs a POSIX shell")                           \
    P(string, engine, "auto", optional,                                                                                \
      "pods, agent-sandbox, or auto: agent-sandbox where the cluster has it with the warm pool `pool`, else pods")     \
    P(string, pool, "sandlot", optional, "SandboxWarmPool that agent-sandbox takes sandboxes from")                    \
    P(string, namespace, "", optional, "namespace of the sandboxes; default: that of the context, else default")       \
    P(string, context, "", optional, "context of the kubeconfig; default: the current one")                            \
    P(string, kubeconfig, "", optional, "the kubeconfig; default: KUBECONFIG, ~/.kube/config, the pod's own account")  \
    P(string, cpu, "1", optional, "processors at most, as Kubernetes writes them: 500m, 2")                            \
    P(string, memory, "1Gi", optional, "memory at most: 512Mi, 4Gi")                                                   \
    P(string, disk, "4Gi", optional, "disk space at most, of what is written in the sandbox")                          \
    P(string, cpu_request, "100m", optional, "processors that are reserved")                                           \
    P(string, memory_request, "128Mi", optional, "memory that is reserved")                                            \
    P(string, runtime_class, "", optional, "RuntimeClass of the pod: gvisor, kata; default: the cluster's own")        \
    P(integer, user, "1000", optional, "number of the user that commands run as; 0: root")                             \
    P(boolean, read_only, "false", optional, "the root of the container is read-only but for /workspace and /tmp")     \
    P(string, network, "none", optional,                                                                               \
      "none: a NetworkPolicy denies everything, if the cluster enforces such; open: what the cluster gives")           \
    P(boolean, trust_network_policy, "false", optional,                                                                \
      "the cluster enforces NetworkPolicies, which nothing tells: no sandbox is off or has a list without it")         \
    P(string, working_dir, "/workspace", optional, "where commands start; in a pod, an empty volume is mounted there") \
    P(string, container, "", optional, "container that commands run in, of a pod that was made by somebody else")      \
    P(table, environment, "", optional, "variables that every command in the sandbox sees")                            \
    P(table, labels, "", optional, "labels of the pod or claim, besides Sandlot's own")                                \
    P(table, pod_spec, "", optional, "further fields of the pod's spec, as its API describes them: tolerations, say")  \
    P(string, base_url, "", optional, "address of the API server; default: the kubeconfig's")

/* The same as a struct; the strings belong to the host. */
struct parameters {
    KUBERNETES_PARAMETERS(PARAMETER_FIELD)
};

#endif

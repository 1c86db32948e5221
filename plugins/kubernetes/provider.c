/*
 * The provider `kubernetes`: pods of a cluster, or claims on the warm pools of agent-sandbox. cluster.c finds the
 * cluster, access.c the way into it, api.c and watch.c talk, pod.c, policy.c, allow.c and claim.c make, sandbox.c holds
 * what is made, exec.c runs programs there, command.c, upload.c, download.c and port.c are what they are for.
 */
#include "command.h"
#include "files.h"
#include "lifecycle.h"
#include "policy.h"
#include "port.h"
#include "sandbox.h"
#include "terminal.h"

#include <stdlib.h>

SANDLOT_PARAMETERS(kubernetes, KUBERNETES_PARAMETERS)

static enum sandlot_status kubernetes_open(struct sandlot_call *call,
                                           void **provider KUBERNETES_PARAMETERS(PARAMETER_ARGUMENT))
{
    const struct parameters parameters = {KUBERNETES_PARAMETERS(PARAMETER_VALUE)};
    struct kubernetes *kubernetes = calloc(1, sizeof(*kubernetes));

    if (!kubernetes)
        return http_no_memory(call);
    access_init(&kubernetes->access, &parameters);
    *provider = kubernetes;
    return SANDLOT_OK;
}

static void kubernetes_close(void *provider)
{
    struct kubernetes *kubernetes = provider;

    access_clear(&kubernetes->access);
    free(kubernetes);
}

/* Whether there is a cluster to ask: that its credentials are good only the cluster knows. */
static enum sandlot_status kubernetes_check(struct sandlot_call *call, void *provider)
{
    struct kubernetes *kubernetes = provider;

    return access_settle(call, &kubernetes->access);
}

static const struct sandlot_provider kubernetes_provider = {
    SANDLOT_TABLE(kubernetes),
    .flags = SANDLOT_STREAMS_OUTPUT,
    .close = kubernetes_close,
    .get_or_create = sandbox_get_or_create,
    .ready = sandbox_ready,
    .release = sandbox_release,
    .delete_sandbox = lifecycle_delete,
    .list = lifecycle_list,
    .execute = command_execute,
    .upload = files_upload,
    .download = files_download,
    .terminal = terminal_run,
    .pause = lifecycle_pause,
    .resume = lifecycle_resume,
    .check = kubernetes_check,
    .set_network = policy_change,
    .connect_port = port_connect,
};

#define KUBERNETES_METADATA(M)                                                                                   \
    M(description, "Pods of a Kubernetes cluster, or sandboxes of agent-sandbox")                                \
    M(package, "sandlot-provider-kubernetes")                                                                    \
    M(working_dir, "/workspace")                                                                                 \
    M(capabilities, "list upload download pause terminal streaming check ports")                                 \
    M(capabilities, "network-off network-open network-ports network-cidrs")                                      \
    M(capabilities, "network-live")                                                                              \
    M(inside_network, "There is no network if the cluster enforces that, unless the parameter network is open.") \
    M(environment, "HOME KUBECONFIG KUBERNETES_SERVICE_HOST")                                                    \
    M(environment, "KUBERNETES_SERVICE_PORT")                                                                    \
    M(environment, "KUBERNETES_SERVICE_ACCOUNT_FOLDER " HTTP_ENVIRONMENT)                                        \
    M(reads, "~/.kube $KUBECONFIG /var/run/secrets/kubernetes.io ~/.minikube")                                   \
    M(inside, "A pod of a Kubernetes cluster. You may write in the working directory and /tmp.")                 \
    M(inside, "Its files are gone when it ends.")                                                                \
    M(inside_unless, "pool pod_spec user")
SANDLOT_ENTRY_POINT(kubernetes, KUBERNETES_METADATA, KUBERNETES_PARAMETERS);

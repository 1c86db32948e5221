/* Pods: what one is to be, and what one is. */
#ifndef SANDLOT_KUBERNETES_POD_H
#define SANDLOT_KUBERNETES_POD_H

#include "api.h"

#define POD_CONTAINER "main"
#define POD_OWNER_KEY "app.kubernetes.io/managed-by"
#define POD_OWNER "sandlot"
#define POD_RUN_KEY "sandlot-run"
#define POD_NETWORK_KEY "sandlot-network"
#define POD_USED "/tmp/.sandlot-last-used" /* its time says when the sandbox was used last */

#define POD_CONNECTED "SANDLOT_CONNECTION=" /* a variable of programs that are a use of the pod as long as they run */

/* The body of the request that makes pod NAME. BODY is to be finished by the caller. */
enum sandlot_status pod_describe(struct sandlot_call *call, const struct parameters *parameters,
                                 const struct sandlot_create *request, const char *name, struct json_builder *body);

/* Labels that are ours, and those that the user and the host want, at PATH of BODY; what is no label for Kubernetes
 * becomes an annotation. */
enum sandlot_status pod_set_labels(struct sandlot_call *call, const struct parameters *parameters,
                                   const struct sandlot_create *request, struct json_builder *body);

/* The name of the object that stands for the creation RUN_LABEL. */
void pod_name(const char *run_label, char name[64]);

enum pod_phase { POD_STARTING, POD_READY, POD_ENDED };

/* It does not run any more, or is being deleted. */
bool pod_has_ended(struct json_object *pod);

/* REASON: why it is not ready, or how it ended. */
enum pod_phase pod_read(struct json_object *pod, char *reason, size_t capacity);

#endif

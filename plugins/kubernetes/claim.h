/* agent-sandbox (agents.x-k8s.io/v1beta1): claims on warm pools, and the Sandboxes that they get. */
#ifndef SANDLOT_KUBERNETES_CLAIM_H
#define SANDLOT_KUBERNETES_CLAIM_H

#include "sandbox.h"

#define CLAIM_PREFIX "sandboxclaim/"
#define CLAIM_GROUP "extensions.agents.x-k8s.io/v1beta1"
#define CLAIM_PLURAL "sandboxclaims"

/* Does the cluster have agent-sandbox, with the pool of the parameters? Without a right to look: no. */
enum sandlot_status claim_is_offered(struct sandlot_call *call, struct kubernetes *kubernetes, bool *offered);

/* The word of a listing for CLAIM, which passes on what its Sandbox says. */
const char *claim_state(struct json_object *claim);

/* Claims a sandbox under NAME, once. *OBJECT: the claim. */
enum sandlot_status claim_create(struct sandlot_call *call, struct kubernetes *kubernetes,
                                 const struct sandlot_create *request, const char *name, struct json_object **object);

/* Puts off the end of the claim, and takes over what it has got. */
enum sandlot_status claim_renew(struct sandlot_call *call, struct sandbox *sandbox);

/* One look, of WINDOW_MS, whether it has got a sandbox that is ready. As `ready` of the table. */
enum sandlot_status claim_watch(struct sandlot_call *call, struct sandbox *sandbox, int window_ms);

/* The pod of the sandbox was not found: looks for its new name, and wakes what was paused. */
enum sandlot_status claim_find_pod(struct sandlot_call *call, struct sandbox *sandbox);

enum sandlot_status claim_pause(struct sandlot_call *call, struct kubernetes *kubernetes, const char *name);
enum sandlot_status claim_resume(struct sandlot_call *call, struct kubernetes *kubernetes, const char *name);

#endif

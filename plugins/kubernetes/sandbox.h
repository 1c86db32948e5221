/* A sandbox that is in use: a pod, or what a claim of agent-sandbox has got. */
#ifndef SANDLOT_KUBERNETES_SANDBOX_H
#define SANDLOT_KUBERNETES_SANDBOX_H

#include "exec.h"

#include <pthread.h>

/* What get_or_create stores. */
struct sandbox {
    struct kubernetes *kubernetes;
    char *name; /* of the pod or the claim */
    bool claim;
    bool attached;        /* not made by this handle */
    pthread_mutex_t lock; /* of what follows */
    int64_t idle_ms;      /* its time of rest; 0: none was asked */
    int64_t last_ms;      /* claim: the end that no use puts off, of UTC; 0: none was asked */
    char *version;        /* of the object, as it was seen last */
    char *box;            /* claim: the Sandbox that it has; NULL: not known yet */
    char *pod;            /* NULL: not known yet, and to be asked for */
    int64_t renew_ms;     /* claim: when its end is to be put off next, of CLOCK_MONOTONIC */
};

FUNCTION_OF(sandlot_provider, get_or_create, sandbox_get_or_create);
FUNCTION_OF(sandlot_provider, ready, sandbox_ready);
FUNCTION_OF(sandlot_provider, release, sandbox_release);

/* The kind that ID names: "sandboxclaim/NAME", "pod/NAME" or "NAME". *NAME points into it. */
bool sandbox_is_claim(const char *id, const char **name);

/*
 * Starts WORDS in the sandbox. A pod that has got another name since, or was paused, is found, or woken, and asked.
 */
enum sandlot_status sandbox_exec(struct sandlot_call *call, struct sandbox *sandbox, const char *const *words,
                                 bool input, bool terminal, struct exec *exec);

/* For what lasts: puts off the sandbox's end while it is used, when that is due. */
void sandbox_use(struct sandlot_call *call, struct sandbox *sandbox);

/* exec_take for what lasts, which looks after the sandbox and the connection: it returns after a while also where
 * nothing came. */
enum sandlot_status sandbox_take(struct sandlot_call *call, struct sandbox *sandbox, struct exec *exec, int wake_fd,
                                 const struct sandlot_sink *output, bool *over);

/* exec_finish, likewise. */
enum sandlot_status sandbox_finish(struct sandlot_call *call, struct sandbox *sandbox, struct exec *exec,
                                   const struct sandlot_sink *output);

#endif

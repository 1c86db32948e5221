/* A sandbox as the host holds it: where it runs, and what opens it. */
#ifndef SANDLOT_MODAL_SANDBOX_H
#define SANDLOT_MODAL_SANDBOX_H

#include "api.h"

#include <sandlot/sdk/http_relay.h>
#include <stdatomic.h>

/* Calls for one sandbox may overlap. */
struct sandbox {
    struct modal *modal;
    char *id;
    struct http_relay_places places;
    bool first_generation;
    bool made_here;       /* just now, so that its worker may still have to bring it up */
    atomic_bool proven;   /* a command has been started in it */
    pthread_mutex_t lock; /* of what follows */
    char *task_id;        /* NULL: not known yet, as are the next two */
    struct grpc_client *router;
    char *key; /* for the router */
};

/* A handle; TASK_ID, URL and KEY may be NULL or empty. */
enum sandlot_status sandbox_open(struct sandlot_call *call, struct modal *modal, const char *id, const char *task_id,
                                 const char *url, const char *key, struct sandbox **made);

/* For the table of the provider. */
FUNCTION_OF(sandlot_provider, ready, sandbox_ready);
FUNCTION_OF(sandlot_provider, release, sandbox_release);

/* Where commands start. */
const char *sandbox_working_dir(const struct modal *modal);

enum sandlot_status sandbox_attach(struct sandlot_call *call, struct modal *modal, const char *id,
                                   struct sandbox **sandbox);

/* Waits until it has a worker and the address of that is known. */
enum sandlot_status sandbox_reach(struct sandlot_call *call, struct sandbox *sandbox);

/* The id of its task, by which its worker knows it; lives as long as SANDBOX once it was reached. */
const char *sandbox_task(struct sandbox *sandbox);

/*
 * A call of its router. A key that has expired is renewed, and the call sent again; but of a stream that has begun only
 * the caller knows where to go on: GRPC_UNAUTHENTICATED comes back, and the next call has the new key. As api_call;
 * REFUSAL, unless NULL, gets what the router says to codes that are no errors.
 */
struct refusal {
    int code;
    char text[1024];
};
enum sandlot_status sandbox_call(struct sandlot_call *call, struct sandbox *sandbox, const struct rpc *rpc,
                                 struct refusal *refusal, void *message);

/* Fails the call with SANDLOT_NOT_FOUND if the sandbox is over. */
enum sandlot_status sandbox_check_alive(struct sandlot_call *call, const struct sandbox *sandbox);

/* Fails the call for a refusal of the router: because the sandbox is over, if it is. */
enum sandlot_status sandbox_fail(struct sandlot_call *call, struct sandbox *sandbox, const char *what,
                                 const struct refusal *refusal);

#endif

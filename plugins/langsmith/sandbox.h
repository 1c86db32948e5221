/* A sandbox's life at LangSmith. Its id is its name. */
#ifndef SANDLOT_LANGSMITH_SANDBOX_H
#define SANDLOT_LANGSMITH_SANDBOX_H

#include "api.h"

#include <sandlot/sdk/http_relay.h>
#include <sandlot/sdk/websocket.h>
#include <stdatomic.h>

#define WORKING_DIR "/root"
#define ABOUT_SANDBOX "LangSmith's answer about a sandbox"

/* What the host holds of a sandbox. Calls for one sandbox may overlap. */
struct sandbox {
    struct api *api;
    char *name;
    struct http_relay_places places;
    pthread_mutex_t lock; /* for address */
    char *address;        /* of its data plane; NULL until it is known */
    atomic_bool ready;    /* the wait for a new one is over */
    atomic_bool no_websocket;
    atomic_bool no_tunnel;
    _Atomic int64_t awake_at_ms; /* when it was last seen awake, 0: never; an idle one falls asleep */
};

/* For the table of the provider, as are those at the end. */
FUNCTION_OF(sandlot_provider, get_or_create, sandbox_get_or_create);
FUNCTION_OF(sandlot_provider, ready, sandbox_ready);
FUNCTION_OF(sandlot_provider, release, sandbox_release);

/* An operation at the data plane as a target; NULL when out of memory or without an address. */
char *sandbox_target(struct sandbox *sandbox, const char *operation, const char *path);

/* Opens a WebSocket to OPERATION at the data plane. ANSWER as in websocket_request. */
enum sandlot_status sandbox_open_socket(struct sandlot_call *call, struct sandbox *sandbox, const char *operation,
                                        struct http_response *answer, struct websocket **socket);

/* The state of the sandbox NAME. What is not there, or is being deleted, is SANDLOT_NOT_FOUND, what has failed
 * SANDLOT_INTERNAL. */
enum { STATE_SIZE = 32 };
enum sandlot_status sandbox_state(struct sandlot_call *call, struct api *api, const char *name, char state[STATE_SIZE]);

/* As that, for who wants to know no more: the data plane answers 404 to a missing sandbox and to missing files alike.
 */
enum sandlot_status sandbox_must_exist(struct sandlot_call *call, const struct sandbox *sandbox);

/* For what cannot be sent twice: a request would wake the sandbox, but may itself be refused meanwhile. */
enum sandlot_status sandbox_wake(struct sandlot_call *call, struct sandbox *sandbox);

void sandbox_seen_awake(struct sandbox *sandbox);
void sandbox_seen_asleep(struct sandbox *sandbox);

/* Fails the call with SANDLOT_NOT_FOUND. */
enum sandlot_status sandbox_not_there(struct sandlot_call *call, const char *name);

FUNCTION_OF(sandlot_provider, delete_sandbox, sandbox_delete);
FUNCTION_OF(sandlot_provider, pause, sandbox_stop);
FUNCTION_OF(sandlot_provider, resume, sandbox_start);
FUNCTION_OF(sandlot_provider, list, sandbox_list);

#endif

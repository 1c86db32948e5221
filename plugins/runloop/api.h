/* Runloop's API: one server for all. */
#ifndef SANDLOT_RUNLOOP_API_H
#define SANDLOT_RUNLOOP_API_H

#include "parameters.h"

#include <sandlot/provider.h>
#include <sandlot/sdk/clients.h>
#include <sandlot/sdk/pause.h>
#include <sandlot/sdk/random.h>
#include <sandlot/sdk/rest.h>

#include <stdatomic.h>

/* What open makes. */
struct runloop {
    struct parameters parameters;
    struct clients clients;
    atomic_bool cannot_await; /* the server cannot create a devbox and wait for it at once */
};

void api_init(struct runloop *runloop, const struct parameters *parameters);

/* Closes all connections. */
void api_clear(struct runloop *runloop);

enum sandlot_status api_client(struct sandlot_call *call, struct runloop *runloop, struct http_client **client);

/* The address below which ports of devboxes have theirs, to be freed; NULL when out of memory. */
char *api_tunnels(struct sandlot_call *call, const struct runloop *runloop);

/*
 * Sends REQUEST. Whatever is no GET carries ID (NULL: a new one) as its x-request-id. *ANSWER: the document of a 2xx
 * answer; NULL if that was empty or went to a sink, or the status was another that the request accepts, for which
 * RESPONSE is to be looked at. RESPONSE is to be cleared in any case.
 */
enum sandlot_status api_send(struct sandlot_call *call, struct runloop *runloop, const struct http_request *request,
                             const char *id, struct http_response *response, struct json_object **answer);

/* One request that may be sent twice. */
struct api_order {
    const char *method;
    char *target;        /* taken over */
    char *body;          /* likewise; NULL: none */
    const int *accepted; /* see http_request */
    int64_t silence_ms;  /* likewise */
};

/* Sends it. *CODE: the status of HTTP; *ANSWER as above. Both may be NULL. */
enum sandlot_status api_send_order(struct sandlot_call *call, struct runloop *runloop, const struct api_order *order,
                                   int *code, struct json_object **answer);

#endif

/*
 * The two servers of Daytona: the control API, which makes and lists sandboxes, and the toolbox, a daemon in each
 * sandbox behind a proxy of its region, which runs commands and moves files.
 */
#ifndef SANDLOT_DAYTONA_API_H
#define SANDLOT_DAYTONA_API_H

#include "parameters.h"

#include <sandlot/provider.h>
#include <sandlot/sdk/clients.h>
#include <sandlot/sdk/pause.h>
#include <sandlot/sdk/rest.h>

/* What open makes. */
struct daytona {
    struct parameters parameters;
    struct clients clients; /* of the control API, and of each region's proxy */
};

void api_init(struct daytona *daytona, const struct parameters *parameters);

/* Closes all connections. */
void api_clear(struct daytona *daytona);

/* Is the API at an address of one's own, and not Daytona's cloud? */
bool api_is_own_server(struct sandlot_call *call, const struct daytona *daytona);

/* The client of the control API. */
enum sandlot_status api_client(struct sandlot_call *call, struct daytona *daytona, struct http_client **client);

/* The client of the toolboxes behind PROXY_URL, which stands in each sandbox's record. */
enum sandlot_status api_toolbox(struct sandlot_call *call, struct daytona *daytona, const char *proxy_url,
                                struct http_client **client);

/* Sends REQUEST to the control API: rest_send of rest.h. */
enum sandlot_status api_send(struct sandlot_call *call, struct daytona *daytona, const struct rest_request *request,
                             struct http_response *response, struct json_object **answer);

/* The same without a body, for an answer that need not be kept. *STATUS: that of HTTP. */
enum sandlot_status api_order(struct sandlot_call *call, struct daytona *daytona, const char *method, char *target,
                              const int *accepted, int *status, struct json_object **answer);

#endif

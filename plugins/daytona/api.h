/*
 * The two servers of Daytona: the control API, which makes and lists sandboxes, and the toolbox, a daemon in each
 * sandbox behind a proxy of its region, which runs commands and moves files.
 */
#ifndef SANDLOT_DAYTONA_API_H
#define SANDLOT_DAYTONA_API_H

#include <sandlot/provider.h>
#include <sandlot/sdk/http.h>
#include <sandlot/sdk/json.h>

#include <pthread.h>

/* The parameters that describe a sandbox to be made. The strings are the host's. */
struct wanted {
    const char *image;
    const char *snapshot;
    const char *target;
    const char *user;
    int64_t cpu; /* SANDLOT_ABSENT_INTEGER: not said; so are the next three */
    int64_t memory_gb;
    int64_t disk_gb;
    int64_t gpu;
    const char *environment; /* JSON, as are the next two */
    const char *secrets;
    const char *volumes;
    bool public_ports;
    bool network_block;
    const char *network_allow_list;
    const char *domain_allow_list;
};

/* A proxy of a region, and the connections to it. */
struct toolbox {
    struct toolbox *next;
    char *url;
    struct http_client *client;
};

/* What open makes. */
struct daytona {
    struct wanted wanted;
    const char *base_url; /* the parameter */
    pthread_mutex_t lock; /* of the two below, which are made when they are needed first and stay until close */
    struct http_client *api;
    struct toolbox *toolboxes;
};

/* Closes all connections. */
void api_clear(struct daytona *daytona);

/* The client of the control API. */
enum sandlot_status api_client(struct sandlot_call *call, struct daytona *daytona, struct http_client **client);

/* The client of the toolboxes behind PROXY_URL, which stands in each sandbox's record. */
enum sandlot_status api_toolbox(struct sandlot_call *call, struct daytona *daytona, const char *proxy_url,
                                struct http_client **client);

/*
 * Sends REQUEST to the control API. *ANSWER: the document of a 2xx answer, NULL if that was empty or the status was
 * another that the request accepts, for which RESPONSE is to be looked at. RESPONSE is to be cleared in any case.
 */
enum sandlot_status api_send(struct sandlot_call *call, struct daytona *daytona, const struct http_request *request,
                             struct http_response *response, struct json_object **answer);

/* The same without a body, for an answer that need not be kept. *STATUS: that of HTTP. */
enum sandlot_status api_order(struct sandlot_call *call, struct daytona *daytona, const char *method, char *target,
                              const int *accepted, int *status, struct json_object **answer);

/* Waits *PAUSE_MS and makes the next pause longer. SANDLOT_CANCELLED or SANDLOT_TIMEOUT: the call is over. */
enum sandlot_status api_pause(struct sandlot_call *call, int *pause_ms);

/* Does what an answer says of an error mention WORD, in any case? */
bool api_mentions(const struct http_response *response, const char *word);

enum sandlot_status api_no_memory(struct sandlot_call *call);

#endif

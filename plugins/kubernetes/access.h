/* The way into the cluster: one client with the certificates of the kubeconfig, and a token that is kept fresh. */
#ifndef SANDLOT_KUBERNETES_ACCESS_H
#define SANDLOT_KUBERNETES_ACCESS_H

#include "cluster.h"
#include "parameters.h"

#include <sandlot/sdk/clients.h>
#include <sandlot/sdk/http.h>

#include <pthread.h>

/* Private but for access.c and program.c. */
struct access {
    struct parameters parameters;
    pthread_mutex_t lock; /* of all below */
    bool settled;
    struct cluster cluster;
    char *address;          /* of the API server */
    struct clients clients; /* one for each certificate that a program has given */
    int generation;         /* of that certificate */
    char *token;            /* in use */
    int64_t token_until_ms; /* of CLOCK_MONOTONIC: when it is to be asked for anew; 0: never */
    bool credentials_had;   /* the program has been run, or the file read */
};

void access_init(struct access *access, const struct parameters *parameters);
void access_clear(struct access *access);

/* Reads the kubeconfig, once. */
enum sandlot_status access_settle(struct sandlot_call *call, struct access *access);

/* The namespace that sandboxes are in, after access_settle. */
const char *access_namespace(const struct access *access);

/* What a request goes with. */
struct way {
    struct http_client *client;
    char *authorization; /* the whole header, or NULL; secret */
};

/* The way in, to be cleared in any case. FRESH: what was had before has been refused. */
enum sandlot_status access_way(struct sandlot_call *call, struct access *access, bool fresh, struct way *way);

/* Would it help to ask for a fresh one? */
bool access_can_refresh(const struct access *access);

void way_clear(struct way *way);
#define AUTO_WAY CLEANUP(way_clear)

#endif

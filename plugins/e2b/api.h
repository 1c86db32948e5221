/*
 * E2B's two kinds of servers: the control API, plain REST, which makes and finds sandboxes, and the daemon of each
 * sandbox (envd), which runs commands and moves files.
 */
#ifndef SANDLOT_E2B_API_H
#define SANDLOT_E2B_API_H

#include "parameters.h"

#include <sandlot/sdk/rest.h>

#include <pthread.h>

#define E2B_SERVICE "E2B"
#define E2B_CREDENTIALS "E2B_API_KEY|E2B_ACCESS_TOKEN"

/* What open makes. */
struct e2b {
    struct parameters parameters;
    pthread_mutex_t lock;        /* for the opening of what follows, which stays until close */
    struct http_client *control; /* NULL until the first request */
    struct http_client *daemons; /* has no key: theirs are the sandboxes' own tokens */
    const char *domain;
    bool is_plain;           /* the control API has no TLS, and its sandboxes have none either */
    const char *sandbox_url; /* NULL: by the domain of each sandbox */
};

void api_init(struct e2b *e2b, const struct parameters *parameters);
void api_clear(struct e2b *e2b);

/* Keeps the secrets of NETWORK, which may be NULL, out of all messages. */
enum sandlot_status api_hide(struct sandlot_call *call, struct e2b *e2b, const struct sandlot_network *network);

/* A request to the control API. */
struct api_request {
    const char *method;
    const char *pattern;       /* for http_target, with at most one {} */
    const char *id;            /* what stands there */
    struct json_builder *body; /* is finished; NULL: none */
    bool repeatable;           /* as in http_request */
    const int *accepted;       /* as in http_request */
};

/* Sends REQUEST by rest_send of rest.h, after finding keys and addresses unless that was done. Every answer is a
 * document. */
enum sandlot_status api_send(struct sandlot_call *call, struct e2b *e2b, const struct api_request *request,
                             struct http_response *response, struct json_object **answer);

/* One page of the list at PATH, an array whose entries are as ENTRY says. */
enum sandlot_status api_list(struct sandlot_call *call, struct e2b *e2b, const char *path, const char *cursor,
                             const struct sandlot_listing *listing, const struct rest_entry *entry);

/* Could ID be one of E2B's? What could not is not there, and api_send does not ask for it. */
bool api_is_id(const char *id);

/* Is a 404 about a request that the server does not know, and not about what it names? */
bool api_is_unknown_request(const struct http_response *response);

#endif

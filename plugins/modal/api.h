/*
 * The two services of Modal: the control plane, which makes, finds and ends sandboxes, and the command router on the
 * worker that runs a sandbox, which executes commands there. Each router has an address of its own.
 */
#ifndef SANDLOT_MODAL_API_H
#define SANDLOT_MODAL_API_H

#include "modal.pb-c.h"
#include "parameters.h"
#include "settings.h"

#include <sandlot/provider.h>
#include <sandlot/sdk/clients.h>
#include <sandlot/sdk/function_of.h>
#include <sandlot/sdk/grpc.h>
#include <sandlot/sdk/http.h>

#include <pthread.h>

/* What open makes. */
struct modal {
    struct parameters parameters;
    struct clients routers; /* of workers, by their addresses */
    pthread_mutex_t lock;   /* of all below, which is made when it is needed first and stays until close */
    bool settled;
    struct settings settings; /* stay as they are after api_settle, and may be read without the lock then */
    struct grpc_client *control;
    /* For the ports of sandboxes, which are reached without the credentials; NULL: none yet. */
    struct http_client *outside;
    char *token;            /* of AuthTokenGet */
    int64_t token_until_ms; /* when it is to be renewed */
    char *app_id;           /* of the app that sandboxes are made in */
    char *builder_version;  /* of images */
};

/* One call of the control plane or of a router. */
struct rpc {
    const char *name; /* of the method */
    const ProtobufCMessage *request;
    const ProtobufCMessageDescriptor *answer; /* NULL: of no interest */
    uint32_t accepted;                        /* as in grpc_request, as are the next five */
    bool once;
    int64_t timeout_ms;
    bool after_cancel;
    grpc_message_function on_message;
    void *context;
};

/* One of the two services. */
struct api_service {
    const char *path; /* "/package.Service/", before the name of a method */
    const char *key;  /* "authorization: Bearer ", before the key that a call needs */
    size_t longest;   /* message of an answer */
};

void api_init(struct modal *modal, const struct parameters *parameters);

/* Closes all connections. */
void api_clear(struct modal *modal);

/* Finds the settings, unless that was done, and whether there are credentials at all. All calls begin with it. */
enum sandlot_status api_settle(struct sandlot_call *call, struct modal *modal);

/* `check` of the table: whether there is a token, as settings.c finds it. */
FUNCTION_OF(sandlot_provider, check, api_check);

/*
 * A call of the control plane. *CODE: which of the accepted codes came, or GRPC_OK; NULL if none is accepted. *ANSWER:
 * the message, to be freed as AUTO_MESSAGE does; NULL if the code was another or none is of interest.
 */
enum sandlot_status api_call(struct sandlot_call *call, struct modal *modal, const struct rpc *rpc, int *code,
                             void *message);

/* Sends RPC to the service TO behind CLIENT as it is. ACCEPTED: besides what RPC accepts. KEY may be NULL. */
enum sandlot_status api_send(struct sandlot_call *call, struct grpc_client *client, const struct api_service *to,
                             const struct rpc *rpc, uint32_t accepted, const char *key, struct grpc_answer *answer);

/* What leads to the URLs of ports. Has no credentials. */
enum sandlot_status api_outside(struct sandlot_call *call, struct modal *modal, struct http_client **client);

/* The client of the router at URL, which a control plane told of. */
enum sandlot_status api_router(struct sandlot_call *call, struct modal *modal, const char *url,
                               struct grpc_client **client);

/* What came over the wire as a message of TYPE; fails the call if it is none. */
enum sandlot_status api_unpack(struct sandlot_call *call, const char *name, const ProtobufCMessageDescriptor *type,
                               const void *bytes, size_t length, void *message);

/* The app that sandboxes belong to. *ID is "" if it is missing and MAKE is not said. Lives as long as MODAL. */
enum sandlot_status api_app(struct sandlot_call *call, struct modal *modal, bool make, const char **id);

enum sandlot_status api_no_memory(struct sandlot_call *call);

/* A copy of TEXT, to be freed. */
enum sandlot_status api_copy(struct sandlot_call *call, const char *text, char **copy);

/* Is it an id of Modal's older kind of sandbox, for which the methods have other names? */
bool api_is_first_generation(const char *id);

#endif

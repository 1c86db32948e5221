/* The provider's side of the keeper: where the state is, starting a keeper, asking it, and the boxes that hang on this
 * process. */
#ifndef SANDLOT_LOCAL_CLIENT_H
#define SANDLOT_LOCAL_CLIENT_H

#include "protocol.h"

#include <pthread.h>
#include <sandlot/provider.h>

/* A box that ends when CONNECTION to the keeper does. */
struct lease {
    struct lease *next;
    char *id;
    int connection;
};

struct client {
    pthread_mutex_t lock; /* of what follows */
    char *state_path;
    int state_fd; /* -1: not yet opened */
    struct lease *leases;
};

/* 0, or an error told to the host. To be cleared in any case. */
enum sandlot_status client_init(struct client *client, struct sandlot_call *call);
void client_clear(struct client *client);

/* Opens the state folder, makes it if need be. A descriptor that the client owns, or -1 with *STATUS, told to the host.
 */
int client_state(struct client *client, struct sandlot_call *call, enum sandlot_status *status);

/*
 * Asks the keeper, which is started if none serves and START is set (else *CONNECTION is -1 then, without an error).
 * The first answer goes to *REPLY, to be cleared; the connection stays open. A MESSAGE_FAILED is told to the host.
 */
enum sandlot_status client_ask(struct client *client, struct sandlot_call *call, uint32_t kind, const char *body,
                               bool start, struct received *reply, int *connection);

/* The same, with the descriptor HANDED_FD, which stays the caller's (-1: none). */
enum sandlot_status client_ask_with(struct client *client, struct sandlot_call *call, uint32_t kind, const char *body,
                                    int handed_fd, bool start, struct received *reply, int *connection);

/* Tells the host what a MESSAGE_FAILED says. */
enum sandlot_status client_failure(struct sandlot_call *call, const struct received *reply);

/* Tells the host that a message could not be exchanged with PEER. */
enum sandlot_status client_broken(struct sandlot_call *call, enum protocol_result result, const char *peer);

/* Binds box ID to this process by CONNECTION, which is the client's from now on. False when out of memory. */
bool client_lease(struct client *client, const char *id, int connection);

/* Lets go of the lease of box ID, if there is one. */
void client_release_lease(struct client *client, const char *id);

#endif

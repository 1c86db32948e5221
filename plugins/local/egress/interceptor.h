/*
 * What a proxy that adds credentials does besides, on the connections to their hosts: it opens TLS, changes what the
 * box sends and masks what comes back. ../intercept has the only one; the proxy of a box without credentials has none,
 * and none of the libraries for it.
 */
#ifndef SANDLOT_EGRESS_INTERCEPTOR_H
#define SANDLOT_EGRESS_INTERCEPTOR_H

#include "connection.h"

#include <sys/types.h>

struct interceptor {
    /* Is TLS to TARGET opened here? */
    bool (*opens)(const struct egress *egress, const struct target *target);

    /* A filter: agrees on TLS with both ends of a tunnel whose box has sent its ClientHello. */
    enum verdict (*secure)(struct connection *connection);

    /*
     * Changes the fields of a request to TARGET. *WRITTEN: what its values point into until it is written, to be handed
     * to request_written; NULL if there is nothing to change. False: it cannot be done.
     */
    bool (*request)(struct connection *connection, const struct target *target, struct head *head,
                    struct written **written);
    void (*request_written)(struct written *written);

    /* Masks the head of an answer. */
    void (*answer_head)(struct connection *connection, char *head, size_t length);

    /* connection_clear for the body of an answer. */
    bool (*answer_body)(struct connection *connection);

    /* The bytes of SIDE's stream have gone down by COUNT. */
    void (*moved)(struct connection *connection, enum side side, size_t count);

    /* recv(2) and send(2) of an end that speaks TLS. */
    ssize_t (*receive)(struct connection *connection, enum side side, char *bytes, size_t size);
    ssize_t (*send)(struct connection *connection, enum side side, const char *bytes, size_t length);

    /* Has SIDE said something that is already read from its descriptor? */
    bool (*pending)(const struct connection *connection, enum side side);

    /* Tells SIDE that nothing more comes. */
    void (*finish)(struct connection *connection, enum side side);

    void (*clear)(struct connection *connection);
};

#endif

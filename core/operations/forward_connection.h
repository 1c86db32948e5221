/* One connection of a forwarding: from a client on this machine to a server in the sandbox, on a thread of its own. */
#ifndef SANDLOT_OPERATIONS_FORWARD_CONNECTION_H
#define SANDLOT_OPERATIONS_FORWARD_CONNECTION_H

#include "session/session.h"

#include <pthread.h>
#include <stdatomic.h>

enum forward_look { FORWARD_NO_LOOK, FORWARD_LOOKED, FORWARD_PORT_CLOSED };

/* What the connections of a forwarding have in common. */
struct forward_work {
    struct sandlot_session *session;
    struct sandlot_forward_request request;
    struct sandlot_cancellation *stop; /* all of them are to end */
    int ended_fd;                      /* eventfd(2): one has ended */
    int gone_fd;                       /* eventfd(2): so has the sandbox */
    _Atomic enum forward_look look;    /* what a look into the sandbox has said since the last one that was opened */
};

/* A place for one. */
struct forward_connection {
    struct forward_work *work;
    pthread_t thread;
    int fd;            /* the client */
    bool used;         /* it is to be joined */
    atomic_bool ended; /* the thread is about to return */
};

/* Begins to carry what comes from FD, which is taken over. False: no thread can be started, and FD is closed. */
bool forward_connection_start(struct forward_connection *connection, struct forward_work *work, int fd);

/* Makes an eventfd(2) readable. */
void forward_ring(int fd);

#endif

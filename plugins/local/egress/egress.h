/* The process: what it has one of. */
#ifndef SANDLOT_EGRESS_EGRESS_H
#define SANDLOT_EGRESS_EGRESS_H

#include "aliases.h"
#include "connection.h"

enum { BOX_NAME_SIZE = 32, LISTENERS = 32 };

/* A socket that connections of the box come to. */
struct listener {
    struct source source;
    enum listener_kind {
        LISTENER_PROXY,  /* programs know it by their variables */
        LISTENER_NAMES,  /* questions for names, by TCP */
        LISTENER_DIRECT, /* one of the gate's ports: whoever dials knows of no proxy */
    } kind;
    int fd;
};

struct egress {
    const struct interceptor *interceptor; /* NULL: no TLS is opened, and nothing added */
    void *secrets;                         /* what that knows */
    int epoll_fd;
    int control_fd; /* to the keeper: policies come, MESSAGE_DONE goes; its end is this process's */
    int log_fd;
    int resolver_fd;
    int pipe_fds[2]; /* what passes goes through it; it is empty between two calls */
    struct policy policy;
    char box[BOX_NAME_SIZE];
    struct connection *connections;
    size_t count;
    uint32_t queries;
    unsigned asked;                       /* questions for addresses that are not yet answered */
    uint64_t decisions;                   /* written to the log */
    bool ready;                           /* there has been a policy */
    bool listening;                       /* the listeners are in epoll */
    struct listener listeners[LISTENERS]; /* the first comes with the first policy, and is the proxy's */
    size_t listener_count;
    int names_fd; /* questions for names, by UDP; -1: there is no gate */
    struct aliases aliases;
    struct source control, names, resolver;
};

/*
 * Makes what the proxy needs of the descriptors that it was started with: to the keeper as 3, the box's network.log
 * as 4. It has no capabilities afterwards, and what must be read of the machine is to be read then. False on failure.
 */
bool egress_prepare(struct egress *egress);

/* Confines the process, and serves until the keeper is gone. What main returns. */
int egress_serve(struct egress *egress);

/* The loop of egress_serve. */
void egress_run(struct egress *egress);

/* Milliseconds of CLOCK_MONOTONIC, and of the time of day. */
int64_t egress_now_ms(void);
int64_t egress_time_ms(void);

/* Adds FD, which is taken, to the listeners, and has it looked at if the others are. */
void egress_listen(struct egress *egress, int fd, enum listener_kind kind);

/* Looks at all of them, or at none while there is no place: more wait in their queues, which the kernel bounds too.
 * False: not at each. */
bool egress_watch_listeners(struct egress *egress, bool watch);

/* Accepts what waits at LISTENER, as long as there is place. */
void egress_accept(struct egress *egress, struct listener *listener);

/*
 * Replaces the gate by COUNT sockets, which are taken: of UDP and TCP for names, then of ports. Without any there is no
 * gate. What waits at the old ones is accepted first.
 */
void gate_replace(struct egress *egress, const int *fds, size_t count);

/* Answers the questions for names that have come by UDP. */
void gate_answer(struct egress *egress);

/* Writes the connection's decision to the log, and that a name which is not on the list was asked for. */
void log_decision(struct egress *egress, const struct connection *connection);
void log_name(struct egress *egress, const struct host *host);

#endif

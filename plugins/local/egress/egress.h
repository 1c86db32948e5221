/* The process: what it has one of. */
#ifndef SANDLOT_EGRESS_EGRESS_H
#define SANDLOT_EGRESS_EGRESS_H

#include "connection.h"

enum { BOX_NAME_SIZE = 32 };

struct egress {
    const struct interceptor *interceptor; /* NULL: no TLS is opened, and nothing added */
    void *secrets;                         /* what that knows */
    int epoll_fd;
    int control_fd;  /* to the keeper: policies come, MESSAGE_DONE goes; its end is this process's */
    int listener_fd; /* comes with the first policy; -1 until then */
    int log_fd;
    int resolver_fd;
    struct policy policy;
    char box[BOX_NAME_SIZE];
    struct connection *connections;
    size_t count;
    uint32_t queries;
    unsigned asked;     /* questions for addresses that are not yet answered */
    uint64_t decisions; /* written to the log */
    bool ready;         /* there has been a policy */
    bool listening;     /* the listener is in epoll */
    struct source control, listener, resolver;
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

/* Writes the connection's decision to the log. */
void log_decision(struct egress *egress, const struct connection *connection);

#endif

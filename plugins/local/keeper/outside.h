/*
 * The open network of a box. pasta(1), of the package passt, carries its packets to sockets of this machine, without
 * any right on it. A process of ours, the guard, starts pasta and ends with it, or it with the guard: without either
 * the box has no network. Before pasta starts the guard makes unreachable, in the box's network namespace, what is to
 * stay closed: this machine's own addresses, also those that it gets later, link-local and metadata addresses.
 */
#ifndef SANDLOT_LOCAL_OUTSIDE_H
#define SANDLOT_LOCAL_OUTSIDE_H

#include "way.h"

struct outside {
    struct source source; /* for epoll(7), on `guard_fd` */
    struct box *box;
    int network_fd; /* the box's network namespace, and */
    int user_fd;    /* the user namespace that it belongs to; -1: they are not the box's own, or it has none */
    int guard_fd;   /* to the guard, and at its end when that is; -1: the network is not open */
    pid_t pid;
};

/* BOX has these namespaces, which are taken; both may be -1. */
void outside_prepare(struct outside *outside, struct box *box, int network_fd, int user_fd);

/* Opens the network, and returns when it is. 0; -1 with REASON: it is closed as before. */
int outside_open(struct keeper *keeper, struct outside *outside, char *reason, size_t size);

/* Closes it, and returns when it is. Nothing is done if it is not open. */
void outside_close(struct outside *outside);

/* The guard has something to say: that it has ended. The network is closed then, and the box's proxy too. */
void outside_heard(const struct keeper *keeper, struct outside *outside);

/* The box has ended. */
void outside_end(struct outside *outside);

#endif

/*
 * The way out for programs that know no proxy. Beside a box that has a list stands a network namespace that nobody is
 * in, the gate, and a pair of devices leads there. Every address that stands for a name of the list, and every one that
 * the list has itself, is the gate's own; on the ports of the list sockets listen there, which sandlot-egress accepts
 * on, and where the box looks names up another answers. Nothing leads out of the gate: whoever takes in a connection
 * decides. The box has no route to anything else.
 */
#ifndef SANDLOT_LOCAL_GATE_H
#define SANDLOT_LOCAL_GATE_H

#include <stddef.h>
#include <sys/types.h>

enum {
    GATE_PORTS = 24,              /* of a list; further ones are reached through the proxy alone */
    GATE_SOCKETS = GATE_PORTS + 2 /* of UDP and of TCP where names are asked for, then of the ports */
};

/* Sockets that somebody owns. */
struct gate_sockets {
    int fds[GATE_SOCKETS];
    size_t count;
};

struct gate {
    int network_fd; /* the box's network namespace, -1: it has none */
    int user_fd;    /* the user namespace that it belongs to, -1: the caller's */
    int fd;         /* the gate's own network namespace; -1: there is none */
    int maker_fd;   /* to the process that makes or changes it; -1: none does */
    pid_t maker_pid;
    int error; /* why there is no such process, although there should be; 0: there need not */
};

/* The gate of a box with these namespaces, which the caller keeps; there is none yet. */
void gate_prepare(struct gate *gate, int network_fd, int user_fd);

/*
 * Begins to make the gate what the list AFTER (in the text form of egress/policy.h; NULL: none) needs, where it was
 * what BEFORE needed: another one, or none. A process of its own does that while the caller goes on, to gate_take,
 * which comes before the next change.
 */
void gate_begin(struct gate *gate, const char *before, const char *after);

/* Waits for what was begun. *SOCKETS are all that listen there from now on; those that were handed
 * out before are to be closed by who has them. 0; -1 with errno: there is no gate. */
int gate_take(struct gate *gate, struct gate_sockets *sockets);

/* Why there is none, for people: what ERROR, an errno of the above, means, and what to do. */
const char *gate_problem(int error);

/* The box has ended. */
void gate_end(struct gate *gate);

void gate_sockets_close(struct gate_sockets *sockets);

#endif

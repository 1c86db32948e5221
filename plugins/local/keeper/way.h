/*
 * A box's way out. Every box with a network namespace has a listener on its loopback interface, which its programs find
 * by the usual variables. The keeper only looks whether somebody knocks there: then it starts sandlot-egress, a
 * confined process for this box alone, and hands the listener over. So a box that uses no network costs nothing, and no
 * byte of a box is read by the keeper.
 */
#ifndef SANDLOT_LOCAL_WAY_H
#define SANDLOT_LOCAL_WAY_H

#include "gate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What epoll(7) reports on: the first member of a box and of a connection, and the listener and the wake-up themselves;
 * of a way the two descriptors, and of an open network the guard's. */
struct source {
    enum source_kind {
        SOURCE_LISTENER,
        SOURCE_WAKE,
        SOURCE_CONNECTION,
        SOURCE_BOX,
        SOURCE_KNOCK,
        SOURCE_EGRESS,
        SOURCE_OUTSIDE
    } kind;
};

struct keeper;
struct box;

struct way {
    struct source knock;
    struct source answers;
    struct box *box;
    int listener_fd;          /* -1: there is none, or it was handed over */
    struct gate_sockets gate; /* likewise */
    int control_fd;           /* to sandlot-egress; -1: it does not run */
    pid_t pid;
    bool dead;     /* it ran, and has ended: nothing leaves the box any more */
    unsigned sent; /* policies that it was sent, and that it has taken */
    unsigned taken;
    char *policy; /* in the text form of egress/policy.h; NULL: nothing was asked */
};

/* Opens the program NAME, which lies beside the keeper's own. -1: it is not there. */
int way_open_program(const char *name);

/* Whom a box with credentials trusts. */
struct trusted {
    char *certificate; /* of its own authority, PEM; to be freed */
    int truststore_fd; /* a file with all, for Java; -1: none. To be closed */
};

/*
 * Starts the proxy of a box that is still to be made, for it makes the certificate that the box has to trust.
 * SECRETS_FD is what it is told of credentials (../credentials.h). False with REASON and
 * an enum sandlot_status in *STATUS; way_end follows in any case.
 */
bool way_prepare(struct keeper *keeper, struct box *box, int secrets_fd, struct trusted *trusted, uint32_t *status,
                 char *reason, size_t size);

/* BOX has LISTENER_FD and the sockets of its GATE: from now on they are looked at, or the proxy that was prepared has
 * them. Takes all, also on failure; POLICY may be NULL. 0, or -1 with errno. */
int way_begin(struct keeper *keeper, struct box *box, int listener_fd, struct gate_sockets *gate, char *policy);

/* Somebody in the box knocks: starts sandlot-egress. Where that fails the listener is closed. */
void way_knocked(struct keeper *keeper, struct way *way);

enum way_answer {
    WAY_NOTHING,
    WAY_DONE, /* it has taken one more of the policies that it was sent */
    WAY_ENDED
};

/* What sandlot-egress has said. That it has ended is noted in the box's folder, as the file network.ended. */
enum way_answer way_heard(const struct keeper *keeper, struct way *way);

/* Replaces the policy, and the sockets of the gate; takes both. 1: in force; 0: it will be when `taken` is what `sent`
 * is now; -1: it cannot be. */
int way_change(struct keeper *keeper, struct way *way, struct gate_sockets *gate, char *policy);

/* Nothing is to leave the box any more, whatever its policy: its proxy is ended, and that is noted. */
void way_break(const struct keeper *keeper, struct way *way);

/* The box has ended. */
void way_end(struct way *way);

#endif

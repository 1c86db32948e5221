/*
 * The private protocol between the provider (in the user's process), the keeper (one per user) and the
 * init of each box. All three are of one build; nothing of this is a public interface.
 *
 * Sockets are AF_UNIX SOCK_SEQPACKET: one datagram is one message, descriptors travel with it (SCM_RIGHTS,
 * unix(7)). A message is a `struct message` and then LENGTH bytes of body. A body larger than MESSAGE_INLINE
 * travels as a memfd, the first descriptor of the message, and the flag MESSAGE_BODY_IN_FD.
 *
 * Who listens:
 *   STATE/keeper.socket        the keeper: create, delete, list, stop
 *   STATE/boxes/ID/socket      the box's init: run commands, hand out the root descriptor
 * where STATE is $XDG_STATE_HOME/sandlot/local, mode 0700. Sockets are bound and connected to through
 * /proc/self/fd/N/name, so that a long STATE does not meet the 108 bytes of sun_path.
 */
#ifndef SANDLOT_LOCAL_PROTOCOL_H
#define SANDLOT_LOCAL_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MESSAGE_INLINE = 32 * 1024, MESSAGE_BODY_MAXIMUM = 8 * 1024 * 1024, MESSAGE_FDS = 32 };

enum message_kind {
    /* to the keeper */
    MESSAGE_CREATE = 1, /* body: a settings text; the connection is the box's lease until MESSAGE_KEEP; with credentials
                           a descriptor of what credentials.h tells */
    MESSAGE_DELETE,     /* body: the id */
    MESSAGE_LIST,       /* answered by one MESSAGE_LISTED per box, then MESSAGE_DONE */
    MESSAGE_KEEP,       /* the id of the box that this connection created has been noted: it outlives the connection */
    MESSAGE_NETWORK, /* body: a box's id, a line feed, and its policy in the text form of egress/policy.h; answered by
                        MESSAGE_DONE.  The keeper hands it on to the box's sandlot-egress in the same form, the
                        first time with the box's listener, and each time with all sockets of its gate */
    MESSAGE_HOLD,    /* body: a box's id: all that runs in it is stopped until MESSAGE_RELEASE, or the end of the
                        connection; answered by MESSAGE_DONE, whose body says how many bytes the box may have written at
                        most, and by MESSAGE_FAILED too if the box ends meanwhile */
    MESSAGE_TURN,    /* body: the id of a layer, which the client has begun: what the box that this connection holds has
                        written becomes part of that as it is (keeper/turn.h); answered by MESSAGE_DONE, or, when that
                        cannot be and nothing has changed, by MESSAGE_FAILED with SANDLOT_UNSUPPORTED */
    MESSAGE_RELEASE, /* answered by MESSAGE_DONE: the box that this connection held has lived all the time */
    MESSAGE_SWEEP,   /* removes the layers that nobody needs; answered by MESSAGE_DONE */
    MESSAGE_UNPACKED, /* the box that this connection created has unpacked its archive: it ends, and what it unpacked
                         stays as STATE/rootfs/KEY; answered by MESSAGE_DONE */
    MESSAGE_VOLUMES,  /* answered by one MESSAGE_LISTED per volume, then MESSAGE_DONE */
    MESSAGE_DELETE_VOLUME, /* body: its name; answered by MESSAGE_DONE */
    MESSAGE_REBASE, /* the same as MESSAGE_TURN, but the layer has everything already: what the box has written, and all
                       that it lies on; the box then lies on that one alone */
    /* from the keeper */
    MESSAGE_CREATED = 16, /* body: the id */
    MESSAGE_LISTED,       /* body: a record text */
    /* to a box's init */
    MESSAGE_RUN = 32, /* a struct run_request and its strings; descriptors: output's writing end, its reading
                         end (init drains it for background jobs after the command), and standard input if any */
    MESSAGE_KILL,     /* end the command that this connection runs, now */
    MESSAGE_ROOT,     /* answered by MESSAGE_ROOT_IS with two descriptors: "/" (O_PATH), and the reading end of a pipe
                         that is closed on the other side when the box has ended */
    MESSAGE_TERMINAL, /* a struct terminal_request and its strings; answered by MESSAGE_TERMINAL_IS, and when the
                         command is over by MESSAGE_ENDED */
    MESSAGE_SOCKET,   /* body: AF_INET or AF_INET6 as uint32_t; answered by MESSAGE_SOCKET_IS. A descriptor, if there is
                         one: the reading end of a pipe; until its other end is closed the box counts as in use */
    /* from a box's init */
    MESSAGE_ENDED = 48, /* struct run_result: the command is over */
    MESSAGE_ROOT_IS,
    MESSAGE_TERMINAL_IS, /* with the controlling side of the pseudo-terminal: who closes it hangs up */
    MESSAGE_GAUGES,      /* to the keeper, with BOX_GAUGES descriptors */
    MESSAGE_SOCKET_IS,   /* with an unconnected TCP socket of the box's network namespace */
    MESSAGE_LISTENER,    /* to the keeper, with the listener that the box's programs take for a proxy */
    MESSAGE_STORAGE,     /* to the keeper: KEPT_PLACES numbers of mounts as uint64_t, and KEPT_FDS descriptors
                            (box/overlay.h) */
    MESSAGE_AUTHORITY, /* to the keeper, from a proxy with credentials: the certificate that the box has to trust, PEM;
                          and a memory file with all that Java is to trust, where this machine has Java */
    /* from both */
    MESSAGE_DONE = 64,
    MESSAGE_FAILED /* struct failure */
};

enum message_flag { MESSAGE_BODY_IN_FD = 1 };

struct message {
    uint32_t kind;
    uint32_t flags;
    uint32_t length; /* of the body */
    uint32_t build;  /* PROTOCOL_VERSION of the sender */
};

#define PROTOCOL_VERSION 9u

/* MESSAGE_RUN: then come the command, the working directory and the environment ("NAME=value" each), each ended by NUL.
 */
struct run_request {
    int64_t timeout_ms; /* 0: no limit */
    uint32_t environment_count;
    uint32_t has_input; /* a third descriptor is standard input */
    uint32_t flags;     /* enum sandlot_command_flag */
    uint32_t unused;
};

/* MESSAGE_TERMINAL: then come the same strings; an empty command means an interactive shell. No descriptors. */
struct terminal_request {
    struct run_request run; /* without input of its own */
    uint32_t rows;          /* 1 to 65535 both */
    uint32_t columns;
};

struct run_result {
    int32_t exit_code;  /* 0 to 255 or 128 + signal; 124 after a timeout */
    uint32_t timed_out; /* 0 or 1 */
    uint32_t note;      /* enum run_note */
};

enum run_note {
    RUN_NOTE_NONE = 0,
    RUN_NOTE_MEMORY,     /* the box's memory limit killed it */
    RUN_NOTE_DISK,       /* the box's disk limit killed it */
    RUN_NOTE_SUPERVISOR, /* it killed its supervisor, and was ended with all its children */
    RUN_NOTE_VOLUME      /* the limit of one of the box's volumes killed it */
};

/*
 * What the keeper tells an init through their socketpair (box_request.keeper_fd): one byte. Init then kills every
 * process of the box but itself, kill(-1, SIGKILL), and each command that ran ends with the run_note of the same value.
 */
enum keeper_order {
    KEEPER_ORDER_MEMORY = RUN_NOTE_MEMORY,
    KEEPER_ORDER_DISK = RUN_NOTE_DISK,
    KEEPER_ORDER_VOLUME = RUN_NOTE_VOLUME
};

/* MESSAGE_FAILED: STATUS is an enum sandlot_status; the sentence follows. */
struct failure {
    uint32_t status;
    char message[1020];
};

/* A received message. BODY is NUL-terminated (the NUL is not in `length`). */
struct received {
    struct message header;
    char *body;
    int fds[MESSAGE_FDS];
    size_t fd_count;
};

enum protocol_result { PROTOCOL_OK, PROTOCOL_CLOSED, PROTOCOL_TIMEOUT, PROTOCOL_CANCELLED, PROTOCOL_BROKEN };

/* Sends one message. DEADLINE_MS is CLOCK_MONOTONIC, 0: do not wait at all. SIGPIPE is not raised. */
enum protocol_result protocol_send(int socket, uint32_t kind, const void *body, size_t length, const int *fds,
                                   size_t fd_count, int64_t deadline_ms);

/*
 * Receives one message until DEADLINE_MS, or CANCEL_FD (-1: none) becomes readable. Bounds are checked, surplus
 * descriptors closed, all are close-on-exec. *MESSAGE is to be cleared with received_clear after PROTOCOL_OK. BROKEN:
 * malformed, or errno.
 */
enum protocol_result protocol_receive(int socket, struct received *message, int64_t deadline_ms, int cancel_fd);

/* Closes the descriptors that are still there (>= 0) and frees the body. */
void received_clear(struct received *message);

/* Takes descriptor I out of the message: the caller closes it from now on. -1 if it is not there. */
int received_take_fd(struct received *message, size_t i);

/* A listening, or a connected, SOCK_SEQPACKET socket NAME in the folder FOLDER_FD; close-on-exec. -1 with errno. */
int protocol_listen(int folder_fd, const char *name);
int protocol_connect(int folder_fd, const char *name);

#endif

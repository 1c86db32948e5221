/*
 * pods/exec: one program in a container, over a WebSocket whose messages begin with the number of a channel. v5 of that
 * protocol can end the standard input alone; v4, which older clusters have, cannot.
 */
#ifndef SANDLOT_KUBERNETES_EXEC_H
#define SANDLOT_KUBERNETES_EXEC_H

#include "api.h"
#include "status.h"

#include <sandlot/sdk/websocket.h>

enum exec_channel {
    EXEC_INPUT = 0,
    EXEC_OUTPUT = 1,
    EXEC_ERROR = 2,
    EXEC_STATUS = 3,
    EXEC_RESIZE = 4,
    EXEC_CLOSE = 255
};

enum { EXEC_PIECE = 32 * 1024 }; /* longest message that is sent: one frame each, which the server insists on */

struct exec_order {
    const char *pod;
    const char *container;    /* NULL: the only one */
    const char *const *words; /* the program and its arguments, ended by NULL */
    bool input;
    bool terminal;
};

struct exec {
    struct websocket *socket;
    bool half_close;  /* v5 */
    int64_t heard_ms; /* when something was known of it last, of CLOCK_MONOTONIC */
    bool ended;       /* STATUS tells how */
    struct exec_status status;
};

/*
 * Starts it. An answer that says "later" is waited for and asked again: nothing has run then. SANDLOT_NOT_FOUND: there
 * is no such pod, or it has ended. EXEC is to be freed after SANDLOT_OK.
 */
enum sandlot_status exec_open(struct sandlot_call *call, struct kubernetes *kubernetes, const struct exec_order *order,
                              struct exec *exec);

/* Sends bytes on CHANNEL, in as many messages as it takes. */
enum sandlot_status exec_send(struct sandlot_call *call, struct exec *exec, enum exec_channel channel,
                              const void *bytes, size_t length);

/* The same without waiting, for bytes both ways at once; see websocket_post. LENGTH bytes of input, EXEC_PIECE at most,
 * stand behind the first one of PIECE, which is not theirs. */
enum sandlot_status exec_post(struct sandlot_call *call, struct exec *exec, void *piece, size_t length);

/* Ends the standard input, where the protocol can; what is taken next sends it. */
enum sandlot_status exec_end_input(struct sandlot_call *call, struct exec *exec);

/*
 * Waits for what comes next, or for WAKE_FD (-1: none). Output goes to OUTPUT. *OVER: the connection has been closed,
 * and EXEC->status tells how the program ended; without that it is SANDLOT_UNAVAILABLE.
 */
enum sandlot_status exec_take(struct sandlot_call *call, struct exec *exec, int wake_fd,
                              const struct sandlot_sink *output, bool *over);

/* So that nobody on the way takes a connection without news for a forgotten one. */
enum sandlot_status exec_ping(struct sandlot_call *call, struct exec *exec);

/* How the program ended is known: takes what may still come, for which no long wait is worth while. */
enum sandlot_status exec_finish(struct sandlot_call *call, struct exec *exec, const struct sandlot_sink *output);

void exec_free(struct exec *exec);

#endif

/* One process in a sandbox: started under an id of its own, fed, and listened to. */
#ifndef SANDLOT_MODAL_PROCESS_H
#define SANDLOT_MODAL_PROCESS_H

#include "sandbox.h"

enum { PROCESS_PIECE = 2 << 20 }; /* of standard input, at most */

/* The id names the process: what is asked again with the same id does not happen twice. */
struct process {
    struct sandbox *sandbox;
    char id[GRPC_KEY_SIZE];
    uint64_t sent;     /* of its standard input */
    uint64_t received; /* of its standard output */
    bool closed;       /* it takes no more input */
};

/* Starts ARGV, ended by NULL; its standard error is dropped, its standard output too unless LISTENED to. ID: NULL for a
 * fresh one. It is killed after TIMEOUT_S seconds. */
enum sandlot_status process_start(struct sandlot_call *call, struct sandbox *sandbox, const char *const *argv,
                                  const char *id, int64_t timeout_s, bool listened, struct process *process);

/* Its standard output to its end. A stream that breaks is taken up where it did. */
enum sandlot_status process_read(struct sandlot_call *call, struct process *process, const struct sandlot_sink *output);

/* At most PROCESS_PIECE bytes of standard input, once each; with LAST it is closed behind them. */
enum sandlot_status process_write(struct sandlot_call *call, struct process *process, const void *bytes, size_t length,
                                  bool last);

/* Closes its standard input as it is, though the call may be over. What does not work is not told. */
void process_abandon(struct sandlot_call *call, struct process *process);

#endif

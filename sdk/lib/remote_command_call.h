/*
 * The call that a channel gets instead of the host's. What fails may be tried again, and of the host's call the first
 * message counts: so messages are kept here until it is known that the command fails by them. And what cleans up after
 * a cancellation needs a call that is not cancelled.
 */
#ifndef SANDLOT_SDK_REMOTE_COMMAND_CALL_H
#define SANDLOT_SDK_REMOTE_COMMAND_CALL_H

#include <sandlot/provider.h>

/* `call` comes first: the functions of `host` find the rest behind it. */
struct remote_call {
    struct sandlot_call call;
    struct sandlot_host host;
    struct sandlot_call *real;
    char message[1024]; /* the first that was told; "" if none was */
};

/* LIMIT_MS: 0 for the deadline and cancellation of REAL; else it lasts so long whatever becomes of REAL. */
void remote_call_init(struct remote_call *call, struct sandlot_call *real, int64_t limit_ms);

#endif

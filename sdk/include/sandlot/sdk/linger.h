/*
 * sandlot/sdk/linger.h - a call that outlasts its own end by a moment, for an answer that is worth waiting for.
 *
 * A service without labels tells of a new sandbox in one answer alone. Whoever presses Ctrl-C before it comes would
 * leave a sandbox that nobody knows of. A provider has a second after a cancellation or its deadline; this uses it to
 * wait:
 *
 *   struct attempt attempt;
 *   struct linger linger;
 *
 *   attempt_begin(&attempt, call, 0);
 *   linger_begin(&linger, &attempt.call);
 *   status = ask_for_a_sandbox(&attempt.call, ..., &id);
 *   linger_end(&linger);
 *   if (id)
 *       call->host->created(call, id, NULL);    the host deletes it, if the call was cancelled
 *
 * Threads: one of its own watches for the cancellation while that lasts.
 */
#ifndef SANDLOT_SDK_LINGER_H
#define SANDLOT_SDK_LINGER_H

#include <sandlot/provider.h>

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

struct linger {
    int cancel_fd; /* of the host */
    int stop[2];   /* closed when nobody waits any more */
    int late[2];   /* what the call takes for its cancellation */
    pthread_t watcher;
    bool watched;
};

/* Changes CALL, that of an attempt, so that its end comes 800 ms later. LINGER must not be moved. Where that cannot be
 * had, for want of descriptors or threads, a cancellation counts at once, as ever. */
void linger_begin(struct linger *linger, struct sandlot_call *call);

/* CALL is not to be used any more. */
void linger_end(struct linger *linger);

#ifdef __cplusplus
}
#endif

#endif

/*
 * sandlot/sdk/attempt.h - a call within a call: for what may fail without failing the whole, and for what must still be
 * done when the call is over.
 *
 *   struct attempt stop;
 *
 *   attempt_begin_urgent(&stop, call, 900);             the call was cancelled: every wait on it ends at once
 *   http_send(&stop.call, client, &kill_command, NULL);
 *
 * Of a call the first message counts, and nobody can take it back. So a function that has another way left if the first
 * one fails tries that one within an attempt, whose message is kept here:
 *
 *   struct attempt fast;
 *
 *   attempt_begin(&fast, call, 0);
 *   status = send_all_at_once(&fast.call, ...);
 *   if (status == SANDLOT_UNSUPPORTED)
 *       return send_one_by_one(call, ...);
 *   return status == SANDLOT_OK ? status : attempt_fail(&fast, status);
 *
 * A plain copy of a struct sandlot_call is no call: the host knows its own by their address. Everything but messages
 * goes to the outer call: log, environment, progress, created. Threads: as for the call itself.
 */
#ifndef SANDLOT_SDK_ATTEMPT_H
#define SANDLOT_SDK_ATTEMPT_H

#include <sandlot/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

struct attempt {
    struct sandlot_call call; /* what to pass on; first, so that it leads back to the rest */
    struct sandlot_host host;
    struct sandlot_call *outer;
    char reason[1024];    /* the first message, "" if there was none */
    int64_t inherited_ms; /* private: the deadline that it began with, where that was OUTER's */
};

/* Begins an attempt of at most LIMIT_MS (0: as long as OUTER), with OUTER's cancellation. The struct must not be moved,
 * and OUTER must last as long. Nothing is to be freed. */
void attempt_begin(struct attempt *attempt, struct sandlot_call *outer, int64_t limit_ms);

/* The same, but it lasts LIMIT_MS whatever becomes of OUTER. A provider has a second after a cancellation. */
void attempt_begin_urgent(struct attempt *attempt, struct sandlot_call *outer, int64_t limit_ms);

/* The deadline of CALL, which may be an attempt, as it is now; 0: none. An attempt without a limit of its own follows
 * the call that it is within, whose deadline may move while something is waited for (remote_command.h). CALL must be no
 * copy.
 */
int64_t attempt_deadline(const struct sandlot_call *call);

/* Fails the outer call with STATUS and the message of the attempt. */
enum sandlot_status attempt_fail(const struct attempt *attempt, enum sandlot_status status);

#ifdef __cplusplus
}
#endif

#endif

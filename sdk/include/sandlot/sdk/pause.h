/*
 * sandlot/sdk/pause.h - waiting between two looks at a service, so that a cancellation and the deadline end it.
 *
 *   struct pause pause = {.service = "Acme", .limit_ms = 60000};
 *   bool ready = false;
 *   enum sandlot_status status;
 *
 *   do
 *       status = look(call, ..., &ready);
 *   while (status == SANDLOT_OK && !ready && pause_again(call, &pause, &status));
 *   return status == SANDLOT_OK && !ready ? sandlot_fail(call, SANDLOT_UNAVAILABLE, "it takes very long") : status;
 *
 * Threads: as for the call.
 */
#ifndef SANDLOT_SDK_PAUSE_H
#define SANDLOT_SDK_PAUSE_H

#include <sandlot/provider.h>

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Waits MILLISECONDS, less if the call is over before. False: it is, by its cancellation or its deadline; nothing was
 * told. */
bool pause_for(const struct sandlot_call *call, int64_t milliseconds);

/*
 * Waits *MILLISECONDS, and makes that half as long again for the next time, LONGEST_MS at most. SANDLOT_CANCELLED or
 * SANDLOT_TIMEOUT: the call is over, and was told that SERVICE ("Acme") was waited for.
 */
enum sandlot_status pause_longer(struct sandlot_call *call, const char *service, int *milliseconds, int longest_ms);

/* How one thing is waited for: what is not said is 0. */
struct pause {
    const char *service; /* who is waited for, for messages */
    int first_ms;        /* the first pause; default 250. Each is half as long again as the one before... */
    int longest_ms;      /* ...but no longer than that; default 2000 */
    int64_t limit_ms;    /* from the first pause on, after which there is no other one; default: none */
    int looks;           /* how often it is looked at most, once more than there are pauses; default: no matter */

    int64_t end_ms; /* private: what has come of it */
    int made;
};

/*
 * Pauses before the next look. True: it is time for it. False: there is to be none, because the limit or the number of
 * looks is reached, which nobody was told, and *STATUS stays as it was; or because the call is over, which it was told,
 * and *STATUS is SANDLOT_CANCELLED or SANDLOT_TIMEOUT.
 */
bool pause_again(struct sandlot_call *call, struct pause *pause, enum sandlot_status *status);

/* Takes MUTEX, which somebody may hold who waits for a service or a program. False: the call was over before, nothing
 * was told, and it is not taken. One that is free is taken for a call that is over, too. */
bool pause_until_locked(const struct sandlot_call *call, pthread_mutex_t *mutex);

#ifdef __cplusplus
}
#endif

#endif

/*
 * sandlot/sdk/pause.h - waiting between two looks at a service, so that a cancellation and the deadline end it.
 *
 *   int pause_ms = 200;
 *
 *   while ((status = look(call, ..., &ready)) == SANDLOT_OK && !ready)
 *       if ((status = pause_longer(call, "Acme", &pause_ms, 2000)) != SANDLOT_OK)
 *           return status;
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

/* Takes MUTEX, which somebody may hold who waits for a service or a program. False: the call was over before, nothing
 * was told, and it is not taken. One that is free is taken for a call that is over, too. */
bool pause_until_locked(const struct sandlot_call *call, pthread_mutex_t *mutex);

#ifdef __cplusplus
}
#endif

#endif

/* sandlot/sdk/timestamp.h - times as services write them in JSON. */
#ifndef SANDLOT_SDK_TIMESTAMP_H
#define SANDLOT_SDK_TIMESTAMP_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * "2026-01-02T03:04:05.678Z", also with an offset such as +01:00, with a blank for the T, and with any number of
 * decimal places: milliseconds since 1970 UTC. 0 if TEXT is NULL or no such time.
 */
int64_t timestamp_read(const char *text);

/* Now, in milliseconds since 1970 UTC. */
int64_t timestamp_now(void);

/* A time since 1970 UTC as a point of sandlot_now_ms(), whose clock nobody sets: for what is to be waited for. */
int64_t timestamp_on_our_clock(int64_t utc_ms);

/*
 * For when a sandbox ends: now, and a time since 1970 UTC, by a clock that nobody sets either, but that goes on while
 * this machine sleeps, as the service's does. (The clock of sandlot_now_ms() stands still then.)
 */
int64_t timestamp_steady_now(void);
int64_t timestamp_steady(int64_t utc_ms);

#ifdef __cplusplus
}
#endif

#endif

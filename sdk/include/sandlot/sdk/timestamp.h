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

#ifdef __cplusplus
}
#endif

#endif

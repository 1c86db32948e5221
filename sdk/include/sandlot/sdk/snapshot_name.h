/*
 * sandlot/sdk/snapshot_name.h - names of snapshots, for providers that keep them under the name that a user gives: one
 * rule for all, which fits into a folder as a file's name.
 *
 * Threads: any.
 */
#ifndef SANDLOT_SDK_SNAPSHOT_NAME_H
#define SANDLOT_SDK_SNAPSHOT_NAME_H

#include <sandlot/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SNAPSHOT_NAME_LONGEST = 64 };

/* Is NAME one? Up to SNAPSHOT_NAME_LONGEST of the letters a-z, A-Z, 0-9, ".", "_" and "-", the first no ".". */
bool snapshot_name_valid(const char *name);

/* The same; if it is none, fails with what one is. */
enum sandlot_status snapshot_name_check(struct sandlot_call *call, const char *name);

#ifdef __cplusplus
}
#endif

#endif

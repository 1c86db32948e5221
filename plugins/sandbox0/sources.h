/*
 * The values of credentials, which Sandbox0 keeps outside the sandbox: a "source" of the team, that the sandbox's
 * policy refers to. A sandbox with credentials has one of its own, which is named after it and goes with it.
 */
#ifndef SANDBOX0_SOURCES_H
#define SANDBOX0_SOURCES_H

#include "sandbox.h"

#include <sandlot/sdk/network.h>

/* The name of the source of sandbox ID; to be freed. NULL: out of memory. */
char *sources_name(const char *id);

/* Makes the source of sandbox ID with the values that NETWORK holds, each as value0, value1, ... by its index. Before
 * that those of sandboxes that are gone are removed. */
enum sandlot_status sources_make(struct sandlot_call *call, struct sandbox0 *sandbox0, const char *id,
                                 const struct sandlot_network *network);

/* Removes the source of sandbox ID, if it has one. */
enum sandlot_status sources_remove(struct sandlot_call *call, struct sandbox0 *sandbox0, const char *id);

#endif

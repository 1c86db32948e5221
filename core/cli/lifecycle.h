/* What the commands that do something with a sandbox as a whole have in common: which one, of which provider, and how
 * it ends. */
#ifndef SANDLOT_CLI_LIFECYCLE_H
#define SANDLOT_CLI_LIFECYCLE_H

#include "cli/context.h"

/* Does the work on sandbox ID and prints what came of it. 0, or -1 with the error. */
typedef int (*lifecycle_work)(const struct context *context, const struct sandlot_target *target, const char *id,
                              struct sandlot_error *error);

/* The course of such a command: the id of the argument or of --sandbox-id, its provider by the ledger, WORK, shown as
 * DOING meanwhile ("Pausing"). The exit status. */
int lifecycle_command(const struct options *options, const char *doing, lifecycle_work work);

#endif

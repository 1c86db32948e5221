/*
 * Where commands live. What a call of executeCommand starts is killed when the call ends, in the background or not, and
 * a call ends after a quarter of an hour. A task (startCommandExecution) goes on for as long as the session; but to ask
 * for its end costs requests, and what it prints is not told before. So one task per session starts everything, by
 * order of calls that only hand its output on.
 *
 * It has a private folder .sandlot where the service starts commands:
 *
 *   pid       the shell that takes orders
 *   in.PID    a pipe: ids of orders
 *   job.ID    an order: a script
 *   out.ID    a pipe: what the script prints
 */
#ifndef SANDLOT_AGENTCORE_NURSERY_H
#define SANDLOT_AGENTCORE_NURSERY_H

#include "sandbox.h"

#include <sandlot/sdk/remote_command.h>

/* Starts the nursery, unless the session is known to have one. */
enum sandlot_status nursery_open(struct sandlot_call *call, struct sandbox *sandbox);

/* The session has lost its nursery, or never had one. */
void nursery_forget(struct sandbox *sandbox);

/* Is that known? Then it is opened before it is used; otherwise the answer to the first order tells. */
bool nursery_is_missing(const struct sandbox *sandbox);

/* The nursery has answered. */
void nursery_found(struct sandbox *sandbox);

/* The command that has SCRIPT run in the nursery, to be freed; NULL when out of memory. Its output has the line of
 * nursery_absent, if there is no nursery. FRESH: one was just started, and may take a moment. */
char *nursery_command(const struct remote_script *script, bool fresh);

/* The command for a script that ends by itself at once, and needs no nursery; likewise. */
char *nursery_direct_command(const char *script);

/* What a command says where there is no nursery. */
#define NURSERY_ABSENT "sandlot-nursery-absent"

#endif

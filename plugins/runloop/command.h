/* Commands: POST /execute, which answers after a moment, and the stream of what it prints from then on. */
#ifndef SANDLOT_RUNLOOP_COMMAND_H
#define SANDLOT_RUNLOOP_COMMAND_H

#include "sandbox.h"

enum sandlot_status command_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                    const struct sandlot_command *command, const struct sandlot_sink *output,
                                    struct sandlot_exit *result);

/* Runs SCRIPT of ours to its end, once, from "/". Its output goes to SINK. */
enum sandlot_status command_run(struct sandlot_call *call, struct sandbox *sandbox, const char *script,
                                const struct sandlot_sink *sink);

/* Runs SCRIPT, which cleans up, also when the call is over already. Nobody hears whether it worked. */
void command_clean_up(struct sandlot_call *call, struct sandbox *sandbox, const char *script);

#endif

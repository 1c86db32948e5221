/* Commands, over the one channel that there is. */
#ifndef SANDLOT_AGENTCORE_COMMAND_H
#define SANDLOT_AGENTCORE_COMMAND_H

#include "sandbox.h"

enum sandlot_status command_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                    const struct sandlot_command *command, const struct sandlot_sink *output,
                                    struct sandlot_exit *result);

/* Runs a script of our own once, where the service starts commands and its file tools are, and passes on what it
 * prints. */
enum sandlot_status command_run(struct sandlot_call *call, struct sandbox *sandbox, const char *script,
                                const struct sandlot_sink *output);

/* Runs a short script that may run twice; it has done its work if it prints the line DONE. */
enum sandlot_status command_do(struct sandlot_call *call, struct sandbox *sandbox, const char *script,
                               const char *done);

/* The same after the call's end, however it goes. */
void command_clean_up(struct sandlot_call *call, struct sandbox *sandbox, const char *script);

#endif

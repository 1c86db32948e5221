/* Commands: POST /process/execute of the toolbox, which answers once, after the end, with both streams as one text. */
#ifndef SANDLOT_DAYTONA_COMMAND_H
#define SANDLOT_DAYTONA_COMMAND_H

#include "sandbox.h"

enum sandlot_status command_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                    const struct sandlot_command *command, const struct sandlot_sink *output,
                                    struct sandlot_exit *result);

/* Runs SCRIPT of ours to its end, once, from "/". Its output, at most CAPACITY - 1 bytes, goes to TEXT. */
enum sandlot_status command_run(struct sandlot_call *call, struct sandbox *sandbox, const char *script, char *text,
                                size_t capacity);

/* Runs SCRIPT, which cleans up, also when the call is over already. Nobody hears whether it worked. */
void command_clean_up(struct sandlot_call *call, struct sandbox *sandbox, const char *script);

#endif

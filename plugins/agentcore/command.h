/* Commands, over the one channel that there is. */
#ifndef SANDLOT_AGENTCORE_COMMAND_H
#define SANDLOT_AGENTCORE_COMMAND_H

#include "sandbox.h"

#include <sandlot/sdk/script.h>

enum sandlot_status command_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                    const struct sandlot_command *command, const struct sandlot_sink *output,
                                    struct sandlot_exit *result);

/* For scripts of our own: where the service starts commands and its file tools are. */
struct script_place command_place(void *sandbox);

/* Runs a short script that may run twice; it has done its work if it prints the line DONE. */
enum sandlot_status command_do(struct sandlot_call *call, struct sandbox *sandbox, const char *script,
                               const char *done);

/* As staged_upload.h wants it. */
void command_clean_up(struct sandlot_call *call, void *sandbox, const char *script);

#endif

/* Commands in a sandbox, over its data plane. */
#ifndef SANDLOT_LANGSMITH_COMMAND_H
#define SANDLOT_LANGSMITH_COMMAND_H

#include "sandbox.h"

enum sandlot_status command_execute(struct sandlot_call *call, void *provider, void *handle,
                                    const struct sandlot_command *command, const struct sandlot_sink *output,
                                    struct sandlot_exit *result);

#endif

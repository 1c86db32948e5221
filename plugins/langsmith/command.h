/* Commands in a sandbox, over its data plane. */
#ifndef SANDLOT_LANGSMITH_COMMAND_H
#define SANDLOT_LANGSMITH_COMMAND_H

#include "sandbox.h"

FUNCTION_OF(sandlot_provider, execute, command_execute);

/* Runs SCRIPT, which removes what is of no use, in less than a second, and never minds what comes of it. */
void command_clean_up(struct sandlot_call *call, struct sandbox *sandbox, const char *script);

#endif

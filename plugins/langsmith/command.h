/* Commands in a sandbox, over its data plane. */
#ifndef SANDLOT_LANGSMITH_COMMAND_H
#define SANDLOT_LANGSMITH_COMMAND_H

#include "sandbox.h"

FUNCTION_OF(sandlot_provider, execute, command_execute);

#endif

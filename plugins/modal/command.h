/* Commands in a sandbox. */
#ifndef SANDLOT_MODAL_COMMAND_H
#define SANDLOT_MODAL_COMMAND_H

#include <sandlot/sdk/function_of.h>

/* For the table of the provider. */
FUNCTION_OF(sandlot_provider, execute, command_execute);

#endif

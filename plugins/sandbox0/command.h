/* Commands: contexts of Sandbox0, each of which is one program. */
#ifndef SANDBOX0_COMMAND_H
#define SANDBOX0_COMMAND_H

#include "sandbox.h"

#include <sandlot/sdk/staged_upload.h>

FUNCTION_OF(sandlot_provider, execute, command_execute);
FUNCTION_OF(staged_upload_vendor, clean_up, command_clean_up);

#endif

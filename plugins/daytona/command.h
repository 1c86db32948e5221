/* Commands: POST /process/execute of the toolbox, which answers once, after the end, with both streams as one text. */
#ifndef SANDLOT_DAYTONA_COMMAND_H
#define SANDLOT_DAYTONA_COMMAND_H

#include "sandbox.h"

#include <sandlot/sdk/staged_upload.h>

FUNCTION_OF(sandlot_provider, execute, command_execute);

/* As staged_upload.h wants it. */
FUNCTION_OF(staged_upload_vendor, clean_up, command_clean_up);

#endif

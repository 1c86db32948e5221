/* Commands: POST /execute, which answers after a moment, and the stream of what it prints from then on. */
#ifndef SANDLOT_RUNLOOP_COMMAND_H
#define SANDLOT_RUNLOOP_COMMAND_H

#include "sandbox.h"

#include <sandlot/sdk/staged_upload.h>

FUNCTION_OF(sandlot_provider, execute, command_execute);

/* As staged_upload.h wants it. */
FUNCTION_OF(staged_upload_vendor, clean_up, command_clean_up);

#endif

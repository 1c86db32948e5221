/* Commands, over the one channel that there is. */
#ifndef SANDLOT_AGENTCORE_COMMAND_H
#define SANDLOT_AGENTCORE_COMMAND_H

#include "sandbox.h"

#include <sandlot/sdk/script.h>
#include <sandlot/sdk/staged_upload.h>

FUNCTION_OF(sandlot_provider, execute, command_execute);

/* For scripts of our own: where the service starts commands and its file tools are. */
struct script_place command_place(void *sandbox);

/* Runs a short script that may run twice; it has done its work if it prints the line DONE. */
enum sandlot_status command_do(struct sandlot_call *call, struct sandbox *sandbox, const char *script,
                               const char *done);

/* As staged_upload.h wants it. */
FUNCTION_OF(staged_upload_vendor, clean_up, command_clean_up);

#endif

/* Commands: scripts of sandlot/sdk/remote_command.h, each a process of the sandbox whose output comes as a stream. */
#ifndef SANDLOT_DENO_COMMAND_H
#define SANDLOT_DENO_COMMAND_H

#include <sandlot/sdk/function_of.h>
#include <sandlot/sdk/staged_upload.h>

FUNCTION_OF(sandlot_provider, execute, command_execute);

/* As in staged_upload.h. */
FUNCTION_OF(staged_upload_vendor, clean_up, command_clean_up);

#endif

#ifndef SANDLOT_DOCKER_COMMAND_H
#define SANDLOT_DOCKER_COMMAND_H

#include <sandlot/sdk/function_of.h>
#include <sandlot/sdk/staged_upload.h>

/* execute of the table. */
FUNCTION_OF(sandlot_provider, execute, command_execute);

/* Runs a short SCRIPT that cleans up, in less than a second although CALL may be over. */
FUNCTION_OF(staged_upload_vendor, clean_up, command_clean_up);

#endif

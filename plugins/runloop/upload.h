/* Files into a devbox: POST /upload_file, one file at a time. */
#ifndef SANDLOT_RUNLOOP_UPLOAD_H
#define SANDLOT_RUNLOOP_UPLOAD_H

#include "sandbox.h"

#include <sandlot/sdk/remote_command.h>

FUNCTION_OF(sandlot_provider, upload, upload_files);
FUNCTION_OF(remote_channel, put, upload_new_file);

#endif

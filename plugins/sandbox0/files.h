/* Files, by the service's own requests for single ones. */
#ifndef SANDBOX0_FILES_H
#define SANDBOX0_FILES_H

#include "sandbox.h"

#include <sandlot/sdk/remote_command.h>

FUNCTION_OF(sandlot_provider, upload, files_upload);
FUNCTION_OF(sandlot_provider, download, files_download);
FUNCTION_OF(remote_channel, put, files_put);

#endif

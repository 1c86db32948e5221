/* Files into a sandbox: small ones in a script, others as streams, to places that nobody looks at. */
#ifndef SANDLOT_DENO_UPLOAD_H
#define SANDLOT_DENO_UPLOAD_H

#include <sandlot/sdk/function_of.h>
#include <sandlot/sdk/remote_command.h>

FUNCTION_OF(sandlot_provider, upload, upload_files);
FUNCTION_OF(remote_channel, put, upload_new_file);

#endif

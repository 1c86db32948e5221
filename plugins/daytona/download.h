/* Files out of a sandbox: GET /files/download of the toolbox for one, POST /files/bulk-download for several. */
#ifndef SANDLOT_DAYTONA_DOWNLOAD_H
#define SANDLOT_DAYTONA_DOWNLOAD_H

#include "sandbox.h"

FUNCTION_OF(sandlot_provider, download, download_files);

#endif

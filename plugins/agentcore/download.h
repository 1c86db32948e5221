/* Files out of a session. */
#ifndef SANDLOT_AGENTCORE_DOWNLOAD_H
#define SANDLOT_AGENTCORE_DOWNLOAD_H

#include "sandbox.h"

FUNCTION_OF(sandlot_provider, download, download_files);

#endif

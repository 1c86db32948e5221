/* Files out of a devbox: POST /download_file for one, a command for several small ones. */
#ifndef SANDLOT_RUNLOOP_DOWNLOAD_H
#define SANDLOT_RUNLOOP_DOWNLOAD_H

#include "sandbox.h"

FUNCTION_OF(sandlot_provider, download, download_files);

#endif

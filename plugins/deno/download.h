/* Files out of a sandbox, piece by piece: one that breaks goes on where it stopped. */
#ifndef SANDLOT_DENO_DOWNLOAD_H
#define SANDLOT_DENO_DOWNLOAD_H

#include <sandlot/sdk/function_of.h>

FUNCTION_OF(sandlot_provider, download, download_files);

#endif

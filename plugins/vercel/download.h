/* Files from a sandbox. */
#ifndef SANDLOT_VERCEL_DOWNLOAD_H
#define SANDLOT_VERCEL_DOWNLOAD_H

#include "sandbox.h"

FUNCTION_OF(sandlot_provider, download, download_files);

#endif

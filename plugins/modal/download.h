/* Files out of a sandbox. */
#ifndef SANDLOT_MODAL_DOWNLOAD_H
#define SANDLOT_MODAL_DOWNLOAD_H

#include <sandlot/sdk/function_of.h>

/* For the table of the provider. */
FUNCTION_OF(sandlot_provider, download, download_files);

#endif

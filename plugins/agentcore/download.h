/* Files out of a session. */
#ifndef SANDLOT_AGENTCORE_DOWNLOAD_H
#define SANDLOT_AGENTCORE_DOWNLOAD_H

#include "sandbox.h"

enum sandlot_status download_files(struct sandlot_call *call, void *provider, void *sandbox,
                                   const struct sandlot_file *files, size_t count,
                                   const struct sandlot_transfer *transfer);

#endif

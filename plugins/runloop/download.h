/* Files out of a devbox: POST /download_file for one, a command for several small ones. */
#ifndef SANDLOT_RUNLOOP_DOWNLOAD_H
#define SANDLOT_RUNLOOP_DOWNLOAD_H

#include "sandbox.h"

enum sandlot_status download_files(struct sandlot_call *call, void *provider, void *sandbox,
                                   const struct sandlot_file *files, size_t count,
                                   const struct sandlot_transfer *transfer);

#endif

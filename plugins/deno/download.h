/* Files out of a sandbox, piece by piece: one that breaks goes on where it stopped. */
#ifndef SANDLOT_DENO_DOWNLOAD_H
#define SANDLOT_DENO_DOWNLOAD_H

#include <sandlot/provider.h>

enum sandlot_status download_files(struct sandlot_call *call, void *provider, void *sandbox,
                                   const struct sandlot_file *files, size_t count,
                                   const struct sandlot_transfer *transfer);

#endif

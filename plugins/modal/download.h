/* Files out of a sandbox. */
#ifndef SANDLOT_MODAL_DOWNLOAD_H
#define SANDLOT_MODAL_DOWNLOAD_H

#include <sandlot/provider.h>

/* For the table of the provider. */
enum sandlot_status download_files(struct sandlot_call *call, void *provider, void *sandbox,
                                   const struct sandlot_file *files, size_t count,
                                   const struct sandlot_transfer *transfer);

#endif

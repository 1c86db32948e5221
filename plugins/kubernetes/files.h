/* Files, as streams through programs in the container. */
#ifndef SANDLOT_KUBERNETES_FILES_H
#define SANDLOT_KUBERNETES_FILES_H

#include "sandbox.h"

enum sandlot_status files_upload(struct sandlot_call *call, void *provider, void *sandbox,
                                 const struct sandlot_file *files, size_t count,
                                 const struct sandlot_transfer *transfer);
enum sandlot_status files_download(struct sandlot_call *call, void *provider, void *sandbox,
                                   const struct sandlot_file *files, size_t count,
                                   const struct sandlot_transfer *transfer);

/* Writes LENGTH bytes (UINT64_MAX: all) of SOURCE to the new file PATH: remote_channel.put. */
enum sandlot_status files_put(struct sandlot_call *call, void *handle, const char *path,
                              const struct sandlot_source *source, uint64_t length);

#endif

/* Files, as streams through programs in the container. */
#ifndef SANDLOT_KUBERNETES_FILES_H
#define SANDLOT_KUBERNETES_FILES_H

#include "sandbox.h"

FUNCTION_OF(sandlot_provider, upload, files_upload);
FUNCTION_OF(sandlot_provider, download, files_download);

/* Writes LENGTH bytes (UINT64_MAX: all) of SOURCE to the new file PATH: remote_channel.put. */
enum sandlot_status files_put(struct sandlot_call *call, void *handle, const char *path,
                              const struct sandlot_source *source, uint64_t length);

#endif

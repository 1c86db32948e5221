/* Files, by the service's own requests for single ones. */
#ifndef SANDBOX0_FILES_H
#define SANDBOX0_FILES_H

#include "sandbox.h"

enum sandlot_status files_upload(struct sandlot_call *call, void *provider, void *sandbox,
                                 const struct sandlot_file *files, size_t count,
                                 const struct sandlot_transfer *transfer);
enum sandlot_status files_download(struct sandlot_call *call, void *provider, void *sandbox,
                                   const struct sandlot_file *files, size_t count,
                                   const struct sandlot_transfer *transfer);

/* As remote_command.h wants it. */
enum sandlot_status files_put(struct sandlot_call *call, void *handle, const char *path,
                              const struct sandlot_source *source, uint64_t length);

#endif

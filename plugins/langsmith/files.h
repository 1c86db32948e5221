/* Files to and from a sandbox, over its data plane. */
#ifndef SANDLOT_LANGSMITH_FILES_H
#define SANDLOT_LANGSMITH_FILES_H

#include "sandbox.h"

enum sandlot_status files_upload(struct sandlot_call *call, void *provider, void *sandbox,
                                 const struct sandlot_file *files, size_t count,
                                 const struct sandlot_transfer *transfer);
enum sandlot_status files_download(struct sandlot_call *call, void *provider, void *sandbox,
                                   const struct sandlot_file *files, size_t count,
                                   const struct sandlot_transfer *transfer);

/* Writes LENGTH bytes of SOURCE to the file PATH. */
enum sandlot_status files_put(struct sandlot_call *call, struct sandbox *sandbox, const char *path,
                              const struct sandlot_source *source, uint64_t length);

#endif

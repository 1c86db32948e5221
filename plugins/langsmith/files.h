/* Files to and from a sandbox, over its data plane. */
#ifndef SANDLOT_LANGSMITH_FILES_H
#define SANDLOT_LANGSMITH_FILES_H

#include "sandbox.h"

FUNCTION_OF(sandlot_provider, upload, files_upload);
FUNCTION_OF(sandlot_provider, download, files_download);

/* Writes LENGTH bytes of SOURCE to the file PATH. */
enum sandlot_status files_put(struct sandlot_call *call, struct sandbox *sandbox, const char *path,
                              const struct sandlot_source *source, uint64_t length);

#endif

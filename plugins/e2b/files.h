/* Files, in and out. */
#ifndef SANDLOT_E2B_FILES_H
#define SANDLOT_E2B_FILES_H

#include "sandbox.h"

FUNCTION_OF(sandlot_provider, upload, upload_files);
FUNCTION_OF(sandlot_provider, download, download_files);

/* `put` of a channel for commands, to the struct sandbox CONTEXT. */
enum sandlot_status upload_new_file(struct sandlot_call *call, void *context, const char *path,
                                    const struct sandlot_source *source, uint64_t length);

#endif

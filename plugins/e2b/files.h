/* Files, in and out. */
#ifndef SANDLOT_E2B_FILES_H
#define SANDLOT_E2B_FILES_H

#include "sandbox.h"

enum sandlot_status upload_files(struct sandlot_call *call, void *provider, void *sandbox,
                                 const struct sandlot_file *files, size_t count,
                                 const struct sandlot_transfer *transfer);
enum sandlot_status download_files(struct sandlot_call *call, void *provider, void *sandbox,
                                   const struct sandlot_file *files, size_t count,
                                   const struct sandlot_transfer *transfer);

/* `put` of a channel for commands, to the struct sandbox CONTEXT. */
enum sandlot_status upload_new_file(struct sandlot_call *call, void *context, const char *path,
                                    const struct sandlot_source *source, uint64_t length);

#endif

/* Files to a sandbox. */
#ifndef SANDLOT_VERCEL_UPLOAD_H
#define SANDLOT_VERCEL_UPLOAD_H

#include "sandbox.h"

FUNCTION_OF(sandlot_provider, upload, upload_files);

/* Writes LENGTH bytes (UINT64_MAX: unknown) of SOURCE to the new file PATH. */
enum sandlot_status upload_new_file(struct sandlot_call *call, void *sandbox, const char *path,
                                    const struct sandlot_source *source, uint64_t length);

#endif

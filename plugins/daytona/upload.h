/* Files into a sandbox: POST /files/bulk-upload of the toolbox. */
#ifndef SANDLOT_DAYTONA_UPLOAD_H
#define SANDLOT_DAYTONA_UPLOAD_H

#include "sandbox.h"

FUNCTION_OF(sandlot_provider, upload, upload_files);

/* Writes SOURCE to PATH, where nothing is yet. */
enum sandlot_status upload_new_file(struct sandlot_call *call, void *sandbox, const char *path,
                                    const struct sandlot_source *source, uint64_t length);

#endif

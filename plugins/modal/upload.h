/* Files into a sandbox. */
#ifndef SANDLOT_MODAL_UPLOAD_H
#define SANDLOT_MODAL_UPLOAD_H

#include "sandbox.h"

/* For the table of the provider. */
FUNCTION_OF(sandlot_provider, upload, upload_files);

/* One new file that only we may read; LENGTH bytes, or UINT64_MAX for all of SOURCE. */
enum sandlot_status upload_new_file(struct sandlot_call *call, void *handle, const char *path,
                                    const struct sandlot_source *source, uint64_t length);

#endif

/* Files into a sandbox: small ones in a script, others as streams, to places that nobody looks at. */
#ifndef SANDLOT_DENO_UPLOAD_H
#define SANDLOT_DENO_UPLOAD_H

#include <sandlot/sdk/function_of.h>

FUNCTION_OF(sandlot_provider, upload, upload_files);

/* `put` of remote_command.h: writes LENGTH bytes (UINT64_MAX: unknown) of SOURCE to the new file PATH. */
enum sandlot_status upload_new_file(struct sandlot_call *call, void *sandbox, const char *path,
                                    const struct sandlot_source *source, uint64_t length);

#endif

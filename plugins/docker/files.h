/* Files, by the archive calls of the engine where those reach them, and by commands where they do not. */
#ifndef SANDLOT_DOCKER_FILES_H
#define SANDLOT_DOCKER_FILES_H

#include <sandlot/provider.h>

/* upload and download of the table. */
enum sandlot_status files_upload(struct sandlot_call *call, void *provider, void *handle,
                                 const struct sandlot_file *files, size_t count,
                                 const struct sandlot_transfer *transfer);
enum sandlot_status files_download(struct sandlot_call *call, void *provider, void *handle,
                                   const struct sandlot_file *files, size_t count,
                                   const struct sandlot_transfer *transfer);

#endif

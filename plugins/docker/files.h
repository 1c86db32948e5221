/* Files, by the archive calls of the engine where those reach them, and by commands where they do not. */
#ifndef SANDLOT_DOCKER_FILES_H
#define SANDLOT_DOCKER_FILES_H

#include <sandlot/sdk/function_of.h>

/* upload and download of the table. */
FUNCTION_OF(sandlot_provider, upload, files_upload);
FUNCTION_OF(sandlot_provider, download, files_download);

#endif

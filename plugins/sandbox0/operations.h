/* What the table of the provider has, by the file that it stands in. */
#ifndef SANDBOX0_OPERATIONS_H
#define SANDBOX0_OPERATIONS_H

#include "sandbox.h"

#include <sandlot/sdk/remote_command.h>
#include <sandlot/sdk/staged_upload.h>

/* command.c: contexts of Sandbox0, each of which is one program. */
FUNCTION_OF(sandlot_provider, execute, command_execute);
FUNCTION_OF(staged_upload_vendor, clean_up, command_clean_up);

/* files.c: by the service's own requests for single ones. */
FUNCTION_OF(sandlot_provider, upload, files_upload);
FUNCTION_OF(sandlot_provider, download, files_download);
FUNCTION_OF(remote_channel, put, files_put);

/* ports.c: where Sandbox0 has the ports of a sandbox. */
FUNCTION_OF(http_relay, find, ports_find);

/* lifecycle.c: what is done with sandboxes by their ids, and with what is kept of them. */
FUNCTION_OF(sandlot_provider, delete_sandbox, lifecycle_delete);
FUNCTION_OF(sandlot_provider, list, lifecycle_list);
FUNCTION_OF(sandlot_provider, pause, lifecycle_pause);
FUNCTION_OF(sandlot_provider, resume, lifecycle_resume);
FUNCTION_OF(sandlot_provider, fork, lifecycle_fork);
FUNCTION_OF(sandlot_provider, snapshot, snapshot_make);
FUNCTION_OF(sandlot_provider, list_snapshots, snapshot_list);
FUNCTION_OF(sandlot_provider, delete_snapshot, snapshot_delete);

#endif

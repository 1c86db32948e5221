/* What the table of the provider has, by the file that it stands in. */
#ifndef SANDLOT_MODAL_OPERATIONS_H
#define SANDLOT_MODAL_OPERATIONS_H

#include "sandbox.h"

#include <sandlot/sdk/remote_command.h>

/* command.c: commands, each a process of its own. */
FUNCTION_OF(sandlot_provider, execute, command_execute);

/* upload.c and download.c: files, by processes too. What is put may be read by us only. */
FUNCTION_OF(sandlot_provider, upload, upload_files);
FUNCTION_OF(remote_channel, put, upload_new_file);
FUNCTION_OF(sandlot_provider, download, download_files);

/* ports.c: where Modal has the ports of a sandbox, "connect tokens". */
FUNCTION_OF(http_relay, find, ports_find);

/* lifecycle.c: sandboxes by their ids. */
FUNCTION_OF(sandlot_provider, delete_sandbox, lifecycle_delete);
FUNCTION_OF(sandlot_provider, list, lifecycle_list);

/* snapshots.c: images of the files of sandboxes. */
FUNCTION_OF(sandlot_provider, snapshot, snapshots_make);
FUNCTION_OF(sandlot_provider, list_snapshots, snapshots_list);
FUNCTION_OF(sandlot_provider, delete_snapshot, snapshots_delete);
FUNCTION_OF(sandlot_provider, fork, snapshots_fork);

#endif

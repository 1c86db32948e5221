/* The functions of the table. */
#ifndef VFS_SANDBOXES_H
#define VFS_SANDBOXES_H

#include "vfs.h"

FUNCTION_OF(sandlot_provider, get_or_create, sandboxes_get_or_create);
FUNCTION_OF(sandlot_provider, release, sandboxes_release);
FUNCTION_OF(sandlot_provider, delete_sandbox, sandboxes_delete);
FUNCTION_OF(sandlot_provider, list, sandboxes_list);
FUNCTION_OF(sandlot_provider, execute, sandboxes_execute);
FUNCTION_OF(sandlot_provider, terminal, sandboxes_terminal);
FUNCTION_OF(sandlot_provider, open_root, sandboxes_open_root);
FUNCTION_OF(sandlot_provider, snapshot, sandboxes_snapshot);
FUNCTION_OF(sandlot_provider, list_snapshots, sandboxes_list_snapshots);
FUNCTION_OF(sandlot_provider, delete_snapshot, sandboxes_delete_snapshot);
FUNCTION_OF(sandlot_provider, fork, sandboxes_fork);

#endif

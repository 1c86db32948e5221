/* Images of the files of sandboxes. */
#ifndef SANDLOT_MODAL_SNAPSHOTS_H
#define SANDLOT_MODAL_SNAPSHOTS_H

#include <sandlot/sdk/function_of.h>

/* For the table of the provider. */
FUNCTION_OF(sandlot_provider, snapshot, snapshots_make);
FUNCTION_OF(sandlot_provider, list_snapshots, snapshots_list);
FUNCTION_OF(sandlot_provider, delete_snapshot, snapshots_delete);
FUNCTION_OF(sandlot_provider, fork, snapshots_fork);

#endif

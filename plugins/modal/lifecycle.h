/* Sandboxes by their ids. */
#ifndef SANDLOT_MODAL_LIFECYCLE_H
#define SANDLOT_MODAL_LIFECYCLE_H

#include <sandlot/sdk/function_of.h>

/* For the table of the provider. */
FUNCTION_OF(sandlot_provider, delete_sandbox, lifecycle_delete);
FUNCTION_OF(sandlot_provider, list, lifecycle_list);

#endif

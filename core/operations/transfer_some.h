/* Small files that are moved together, where a command for each would take most of the time. */
#ifndef SANDLOT_OPERATIONS_TRANSFER_SOME_H
#define SANDLOT_OPERATIONS_TRANSFER_SOME_H

#include "operations/transfer_file.h"

/* Moves files of the batch, from FIRST on, together. Returns how many have had their turn, one at least; those that are
 * not settled then are to be moved alone. */
size_t transfer_some(struct transfer *transfer, size_t first);

#endif

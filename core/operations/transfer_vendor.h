/* Files that go through the provider's own transfer. */
#ifndef SANDLOT_OPERATIONS_TRANSFER_VENDOR_H
#define SANDLOT_OPERATIONS_TRANSFER_VENDOR_H

#include "operations/transfer_file.h"

/* Moves all files of the batch, which are settled then. */
void transfer_by_vendor(struct transfer *transfer);

#endif

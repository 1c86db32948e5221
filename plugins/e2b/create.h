/* Making a sandbox. */
#ifndef SANDLOT_E2B_CREATE_H
#define SANDLOT_E2B_CREATE_H

#include "record.h"

/* Makes the sandbox that REQUEST asks for, tells the host of it, and stores in *RECORD, to be cleared, what E2B says.
 */
enum sandlot_status create_sandbox(struct sandlot_call *call, struct e2b *e2b, const struct sandlot_create *request,
                                   struct record *record);

/* How many seconds a sandbox is to live at first: as long as it may rest, or until its hard end. */
int64_t create_seconds(const struct e2b *e2b, const struct sandlot_create *request);

#endif

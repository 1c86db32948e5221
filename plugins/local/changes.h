/* What may have changed in a box's workspace: what its overlay has noted above the folder of the host. */
#ifndef SANDLOT_LOCAL_CHANGES_H
#define SANDLOT_LOCAL_CHANGES_H

#include "sandbox.h"

/* As `changes` of the provider ABI. The folder of the host is looked at only where the box has written. */
enum sandlot_status changes_tell(const struct sandbox *sandbox, struct sandlot_call *call,
                                 const struct sandlot_changes *changes);

#endif

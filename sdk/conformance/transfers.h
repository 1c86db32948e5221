/* Upload and download: exact bytes, modes, the fate of each file. Part of the group operations. */
#ifndef SANDLOT_CONFORMANCE_TRANSFERS_H
#define SANDLOT_CONFORMANCE_TRANSFERS_H

#include "live.h"

void transfers_check(const struct kit *kit, struct sandlot_session *session);

#endif

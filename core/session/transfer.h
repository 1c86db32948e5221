/* The vendor's own transfer of files. */
#ifndef SANDLOT_SESSION_TRANSFER_H
#define SANDLOT_SESSION_TRANSFER_H

#include "session/session.h"

/*
 * Calls the provider's upload (UPLOAD) or download, which must be there, for COUNT files. 0, or -1 with what concerns
 * them all; the fate of each went to TRANSFER.
 */
int session_transfer(struct sandlot_session *session, bool upload, const struct sandlot_file *files, size_t count,
                     const struct sandlot_transfer *transfer, int64_t deadline_ms, int cancel_fd,
                     struct sandlot_error *error);

#endif

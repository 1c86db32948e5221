/* What a new sandbox may reach: asked for, checked against what its provider says it can hold, handed over. And what is
 * remembered of it, which other processes may change while the sandbox is in use. */
#ifndef SANDLOT_SESSION_NETWORK_H
#define SANDLOT_SESSION_NETWORK_H

#include "network/policy.h"
#include "registry/registry.h"

/* Can the provider of ENTRY, by what its note says, hold POLICY? 0; -1: SANDLOT_CODE_NOT_SUPPORTED names each thing
 * that it cannot. A provider without a note can hold nothing. */
int session_network_check(const struct registry_entry *entry, const struct network_policy *policy,
                          struct sandlot_error *error);

/* Held by whoever changes what the session's sandbox may reach, or writes its record anew. A descriptor to close; -1
 * with an error. */
int session_network_lock(const struct sandlot_session *session, int cancel_fd, struct sandlot_error *error);

/* Takes into the session's record what the ledger has of its network by now. With the lock. */
void session_network_refresh(struct sandlot_session *session);

#endif

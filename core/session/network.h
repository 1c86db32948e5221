/* What a new sandbox may reach: asked for, checked against what its provider says it can hold, handed over. */
#ifndef SANDLOT_SESSION_NETWORK_H
#define SANDLOT_SESSION_NETWORK_H

#include "network/policy.h"
#include "registry/registry.h"

/* Can the provider of ENTRY, by what its note says, hold POLICY? 0; -1: SANDLOT_CODE_NOT_SUPPORTED names each thing
 * that it cannot. A provider without a note can hold nothing. */
int session_network_check(const struct registry_entry *entry, const struct network_policy *policy,
                          struct sandlot_error *error);

#endif

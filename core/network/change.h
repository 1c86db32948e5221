/* A policy as it is remembered and shown, and how it becomes another one. A state is the object of network_policy_json,
 * or NULL: nothing was asked. */
#ifndef SANDLOT_NETWORK_CHANGE_H
#define SANDLOT_NETWORK_CHANGE_H

#include "network/policy.h"

/* The state that a provider tells; NULL when out of memory. */
struct json_object *network_state_of(const struct sandlot_network *network);

/* Does what is remembered hold, with the sets of CONFIG, by what the provider tells (NULL: it does not tell)? Not where
 * a change was cut off before it was remembered. */
bool network_state_agrees(const struct config *config, struct json_object *remembered, struct json_object *told);

/* STATE, which is not NULL, as an agent is told, to be freed: the mode, and the first of what may be reached. */
char *network_sentence(struct json_object *state);

/* STATE as sandlot.h has it, to TELL, with what is the matter with it. 0 or -1. */
int network_state_tell(struct json_object *state, const char *note, bool broken,
                       void (*tell)(void *context, const struct sandlot_network_state *state), void *context,
                       struct sandlot_error *error);

/*
 * What comes of CHANGE: the policy to send, without credentials, to be cleared in any case, and the state to remember,
 * to be put. 0, or -1 with SANDLOT_CODE_USAGE: an entry is no entry, or cannot be taken away.
 */
int network_change_make(const struct config *config, struct json_object *state,
                        const struct sandlot_network_change *change, struct network_policy *policy,
                        struct json_object **changed, struct sandlot_error *error);

#endif

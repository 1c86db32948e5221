/* Named lists of what a kind of work reaches: those that ship, in network-sets.toml, and the operator's, which replace
 * them. */
#ifndef SANDLOT_NETWORK_SETS_H
#define SANDLOT_NETWORK_SETS_H

#include "config/config.h"

#include <json-c/json.h>
#include <stdbool.h>

/*
 * All sets: an object of arrays of texts, by name, to be put. OWN: [network.sets] of the config, checked already; NULL:
 * none. NULL with an error: the file that ships cannot be used.
 */
struct json_object *network_sets_load(struct json_object *own, struct sandlot_error *error);

/* Can a set be called that? */
bool network_set_name_valid(const char *name);

#endif

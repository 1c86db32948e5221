/*
 * What a sandbox may reach, decided from what was asked for: the command line beats [sandboxes.providers.NAME.network],
 * that beats [network]. Mode and list are one and replace each other; credentials and authorities go on from the level
 * below unless the one above names them.
 *
 * A mistake in any of these tables is an error, and none is ever passed over: it could open what was to be closed.
 */
#ifndef SANDLOT_NETWORK_POLICY_H
#define SANDLOT_NETWORK_POLICY_H

#include "config/config.h"
#include "network/credential.h"
#include "network/entry.h"

#include <json-c/json.h>
#include <sandlot/provider.h>

struct network_policy {
    enum sandlot_network_mode mode; /* 0: nothing was asked */
    char **written;                 /* the entries that were asked for, canonical and each once, sets by their names */
    size_t written_count;
    struct network_entry *entries; /* the same without sets, each once */
    size_t entry_count;
    struct network_credential *credentials;
    size_t credential_count;
    char *trusted_file;
    char *source; /* where mode and list come from, for people; NULL: nothing was asked */
};

/* MODE ("off", "allow", "open") and ALLOW (ended by NULL) of the command line, both NULL: nothing is said there. POLICY
 * is to be cleared in any case. 0, or -1: SANDLOT_CODE_USAGE names the place and what is wrong. */
int network_policy_find(const struct config *config, const char *provider, const char *mode, const char *const *allow,
                        struct network_policy *policy, struct sandlot_error *error);

/* A policy of MODE and the list ALLOW alone. SETS of the config are known. To be cleared in any case. */
int network_policy_of(const struct config *config, enum sandlot_network_mode mode, const char *const *allow,
                      struct network_policy *policy, struct sandlot_error *error);

/* [network.sets] of CONFIG on top of those that ship, to be put; NULL with an error. */
struct json_object *network_policy_sets(const struct config *config, struct sandlot_error *error);

/* Reads the secrets. 0 or -1. */
int network_policy_read_secrets(struct network_policy *policy, int cancel_fd, struct sandlot_error *error);

/* As the ABI has it; points into POLICY. */
struct network_view {
    struct sandlot_network network;
    struct sandlot_network_entry *entries;
    struct sandlot_network_credential *credentials;
};
/* 0 or -1. To be cleared in any case, before POLICY is. */
int network_view_make(const struct network_policy *policy, struct network_view *view, struct sandlot_error *error);
void network_view_clear(struct network_view *view);

/* {"mode", "allow", "credentials": [{"host", "header"}], "source"}, for the ledger and `network show`; NULL: nothing
 * was asked, or out of memory. */
struct json_object *network_policy_json(const struct network_policy *policy);

/* "off", "allow", "open"; NULL for 0. */
const char *network_mode_name(enum sandlot_network_mode mode);

void network_policy_clear(struct network_policy *policy);

#endif

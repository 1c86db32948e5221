/* Whose sandbox an id is: the ledger knows the provider of every sandbox that this user's Sandlot has made. */
#ifndef SANDLOT_CLI_OWNER_H
#define SANDLOT_CLI_OWNER_H

#include "cli/options.h"
#include "session/ledger.h"
#include "session/runtime.h"

/* Texts and lists live until owner_clear. */
struct owner {
    struct ledger_record *record;
    const char *provider;
    const char **parameters; /* those of the run that made the sandbox, less what --param says, then --param */
    struct sandlot *sandlot; /* the caller's, or that of the other configuration which that run had */
    struct sandlot *other;   /* the latter; NULL: none */
};

/*
 * Looks the sandbox ID up in the ledger. 1: OWNER tells how to reach it; 0: the ledger does not know it; -1: error,
 * also when its provider or that run's configuration is gone. OWNER is to be cleared in any case.
 */
int owner_find(struct sandlot *sandlot, const struct options *options, const char *id, struct owner *owner,
               struct sandlot_error *error);

/* The same for a record of the ledger, which is taken over. 0 or -1. */
int owner_of_record(struct sandlot *sandlot, const struct options *options, struct ledger_record *record,
                    struct owner *owner, struct sandlot_error *error);

void owner_clear(struct owner *owner);

/* Appends to the message of ERROR that nobody knows ID: which known id is near, and how to name a provider. */
void owner_advise(const char *id, struct sandlot_error *error);

/* The same for what asks no provider. */
void owner_advise_ledger(const char *id, struct sandlot_error *error);

#endif

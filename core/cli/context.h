/* What every command that works with providers needs: the library, a cancellation, and the provider that was meant. */
#ifndef SANDLOT_CLI_CONTEXT_H
#define SANDLOT_CLI_CONTEXT_H

#include "cli/options.h"
#include "cli/owner.h"
#include "registry/registry.h"
#include "session/runtime.h"

#include <sandlot/sandlot.h>

struct context {
    const struct options *options;
    struct sandlot *sandlot;
    struct sandlot_cancellation *cancellation; /* by signals */
    const char *provider;                      /* after context_resolve, as what follows */
    const char *const *parameters;             /* "KEY=VALUE", ended by NULL */
    struct owner owner;                        /* of --sandbox-id, where no --sandbox was named */
};

/* Opens the library and listens to signals. 0, or the exit status after the complaint. To be closed in any case. */
int context_open(struct context *context, const struct options *options);

/*
 * Finds the provider that --sandbox, the ledger (of --sandbox-id), the configuration or their absence mean, and checks
 * what its metadata says about the other options. 0, or the exit status after the complaint.
 */
int context_resolve(struct context *context);

/* The library for work with that provider. */
struct sandlot *context_sandlot(const struct context *context);

/* The provider and its parameters for the calls without a session. */
struct sandlot_target context_target(const struct context *context);

/* "sandlot delete --sandbox NAME ID", with what else is needed, to be freed. */
char *context_delete_command(const struct context *context, const char *provider, const char *id);

void context_close(struct context *context);

/* The exit status after the work: that of a signal if one arrived, else STATUS if all results could be written. */
int context_status(int status);

#endif

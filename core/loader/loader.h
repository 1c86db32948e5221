/* Loads the one provider that was asked for: trust check, dlopen, ABI handshake, note against table, parameters, open.
 */
#ifndef SANDLOT_LOADER_LOADER_H
#define SANDLOT_LOADER_LOADER_H

#include "loader/host.h"
#include "loader/parameters.h"
#include "loader/worker/worker.h"
#include "registry/registry.h"

/* A provider that is loaded and open. Its functions may be called on many threads. */
struct provider {
    const struct registry_entry *entry;
    struct sandlot_provider table; /* a copy, as far as both sides know it; the rest is zero */
    void *instance;                /* what open stored */
    bool opened;                   /* there is something to close */
    struct parameters *parameters;
    struct environment *environment; /* with what it may have of a project's file */
    void *library;                   /* NULL: it is loaded in a process of its own */
    struct worker *worker;           /* that process; NULL: it is loaded here */
    const char *config_file;         /* while it is loaded: what its parameters are bound from */
    const char *const *overrides;
};

/*
 * Loads ENTRY and opens it with its parameters (see parameters_bind). NULL on error: a bad parameter is
 * SANDLOT_CODE_USAGE, an unusable library SANDLOT_CODE_PROVIDER_UNAVAILABLE with its path and the dynamic loader's
 * reason in one line, missing dependencies (checked before loading) the same with the install hint.
 *
 * From here on the values of the credentials that the entry point names are kept out of every message, and so are those
 * of its other variables whose names say that they are secret.
 */
struct provider *provider_load(const struct registry_entry *entry, const struct environment *environment,
                               const char *config_file, const char *const *overrides, bool lenient,
                               struct sandlot_error *error);

/* Whose code it is: an entry of the config without a library of its own changes settings of what it shadows. */
bool provider_is_builtin(const struct registry_entry *entry);

/* Loads ENTRY, bad parameters of the config left out with a warning, and asks it whether it could be used, without a
 * request. 0, also of a provider that has no `check`; -1 with what it lacks. */
int provider_check(const struct registry_entry *entry, const struct environment *environment, const char *config_file,
                   struct sandlot_error *error);

/* Closes and unloads it. NULL is fine. */
void provider_unload(struct provider *provider);

/* The capabilities of the loaded table, of enum capability. */
uint32_t provider_capabilities(const struct sandlot_provider *table);

#endif

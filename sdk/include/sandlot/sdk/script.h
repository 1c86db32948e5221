/*
 * sandlot/sdk/script.h - scripts of the provider's own in a sandbox, by the provider's own execute.
 *
 *   const struct script_place place = {.provider = provider, .sandbox = sandbox, .execute = acme_execute};
 *   char said[64];
 *
 *   status = script_read(call, &place, "stat -c %U /home", said, sizeof(said));
 *
 * A script runs once, under the promises of execute, for ten minutes at most. Its exit code is not looked at: it prints
 * what became of what it did, or the silence says that it was cut. Threads: as for execute.
 */
#ifndef SANDLOT_SDK_SCRIPT_H
#define SANDLOT_SDK_SCRIPT_H

#include <sandlot/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where and by what scripts run. */
struct script_place {
    void *provider;
    void *sandbox;

    /* As in the table of the provider. */
    enum sandlot_status (*execute)(struct sandlot_call *call, void *provider, void *sandbox,
                                   const struct sandlot_command *command, const struct sandlot_sink *output,
                                   struct sandlot_exit *result);

    const char *folder; /* where they start; NULL: "/", for the usual one may have been deleted */
};

/* Runs SCRIPT for sh. Its output goes to OUTPUT, which may be NULL. */
enum sandlot_status script_run(struct sandlot_call *call, const struct script_place *place, const char *script,
                               const struct sandlot_sink *output);

/* The same with INPUT as its standard input. */
enum sandlot_status script_feed(struct sandlot_call *call, const struct script_place *place, const char *script,
                                const struct sandlot_source *input, const struct sandlot_sink *output);

/* The same; the first CAPACITY - 1 bytes of its output go to TEXT, with a NUL behind, whatever is returned. */
enum sandlot_status script_read(struct sandlot_call *call, const struct script_place *place, const char *script,
                                char *text, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif

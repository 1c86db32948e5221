/* The host's side of a call: what a provider says during it, and the services that it may use. */
#ifndef SANDLOT_LOADER_HOST_H
#define SANDLOT_LOADER_HOST_H

#include "config/environment.h"

#include <sandlot/provider.h>
#include <sandlot/sandlot.h>

/* One call into a provider, and what it said. Lives on the caller's stack. */
struct host_call {
    struct sandlot_call call;
    const char *provider; /* the name, for the log */
    const struct environment *environment;
    char *message; /* the first host->fail of the call; NULL: none */
    bool crashed;  /* the provider's process has died in this call */
    /* What to do with host->created and host->progress, on whatever thread the provider says it; NULL: nothing. */
    void (*created)(void *context, const char *id, const char *working_dir);
    void (*progress)(void *context, const char *what, uint64_t done, uint64_t total);
    void *context;
};

/* A call of PROVIDER that must be over by DEADLINE_MS (CLOCK_MONOTONIC, 0: none) and ends when CANCEL_FD (or -1)
 * becomes readable. */
void host_call_init(struct host_call *call, const char *provider, const struct environment *environment,
                    int64_t deadline_ms, int cancel_fd);

void host_call_clear(struct host_call *call);

/* Says that the provider's process has died in this call, in place of whatever it had said before. SENTENCE may be
 * NULL.
 */
void host_call_crashed(struct sandlot_call *call, const char *text);

/* Turns a status and what was said during the call into an error: "PROVIDER: WHAT: why". Returns -1; 0 for SANDLOT_OK.
 * CREATED: something was created already (then a bad argument is no usage error). */
int host_call_error(const struct host_call *call, enum sandlot_status status, const char *what, bool created,
                    struct sandlot_error *error);

#endif

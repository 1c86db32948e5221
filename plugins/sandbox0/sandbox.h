/* A sandbox in use, what Sandbox0 says of one, and what wakes one that sleeps. */
#ifndef SANDBOX0_SANDBOX_H
#define SANDBOX0_SANDBOX_H

#include "api.h"

#include <sandlot/sdk/http_relay.h>

/* What the host holds of a sandbox. Calls for one sandbox may overlap. */
struct sandbox {
    struct sandbox0 *sandbox0;
    char *id;
    _Atomic bool running;       /* it has been seen to */
    _Atomic bool plain;         /* its image has no bash, or no /workspace */
    pthread_mutex_t publishing; /* services are looked at and replaced */
    struct http_relay_places places;
};

enum phase {
    PHASE_STARTING, /* words that are new too */
    PHASE_RUNNING,
    PHASE_PAUSED,
    PHASE_ENDED
};

/* A sandbox as it stood in an answer. The strings are DOCUMENT's. */
struct record {
    struct json_object *document;
    const char *id;
    const char *state; /* in Sandbox0's words, never NULL */
    const char *label; /* NULL: it is not of our making, or this is a row of a list */
    bool labelled;     /* that it has none is told: rows leave out more than others do, mostly this too */
    enum phase phase;
    int64_t created_at_ms;
};

/* Reads a record from DOCUMENT, an object with the fields of a sandbox, whose owner it does not become. */
bool record_read(struct json_object *document, struct record *record, struct json_error *error);

/* Asks for the sandbox ID; one that is not there is SANDLOT_NOT_FOUND. */
enum sandlot_status record_get(struct sandlot_call *call, struct sandbox0 *sandbox0, const char *id,
                               struct record *record);
void record_clear(struct record *record);

#define AUTO_RECORD CLEANUP(record_clear)

FUNCTION_OF(sandlot_provider, get_or_create, sandbox_get_or_create);
FUNCTION_OF(sandlot_provider, ready, sandbox_ready);
FUNCTION_OF(sandlot_provider, release, sandbox_release);

/* Waits until sandbox ID is in PHASE, PHASE_RUNNING or PHASE_PAUSED, and orders that if it is in the other one. */
enum sandlot_status sandbox_bring(struct sandlot_call *call, struct sandbox0 *sandbox0, const char *id,
                                  enum phase phase);

/*
 * Sends REQUEST about SANDBOX. One that does not run, or not yet, answers with 503, which the request had better
 * accept: it is woken then, and asked again. CALL may be one of remote_command.h.
 */
enum sandlot_status sandbox_send(struct sandlot_call *call, struct sandbox *sandbox, const struct http_request *request,
                                 struct http_response *response);

#endif

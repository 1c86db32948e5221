/* A sandbox in use. Its id is its name; which session it has changes. */
#ifndef SANDLOT_VERCEL_SANDBOX_H
#define SANDLOT_VERCEL_SANDBOX_H

#include "record.h"

#include <sandlot/sdk/http_relay.h>

#define WORKING_DIR "/vercel/sandbox"

/* What the host holds of a sandbox. Calls for one sandbox may overlap. */
struct sandbox {
    struct vercel *vercel;
    char *name;
    struct http_relay_places places;
    pthread_mutex_t lock; /* of all below */
    char *session;
    char *working_dir;
    bool has_credentials; /* headers are added to its requests */
    bool running;
    int64_t ends_ms;  /* when the session ends, by timestamp_steady_now; 0: unknown */
    int64_t rest_ms;  /* it is to live so long without use */
    int64_t until_ms; /* but never longer than until then; 0: unknown */
    int64_t again_ms; /* it could not be made longer: not tried before then */
    bool fixed;       /* Vercel does not make the session longer */
};

FUNCTION_OF(sandlot_provider, get_or_create, sandbox_get_or_create);
FUNCTION_OF(sandlot_provider, ready, sandbox_ready);
FUNCTION_OF(sandlot_provider, release, sandbox_release);

/*
 * The path of an operation of the session, PATTERN with "{}" for its id ("/cmd", "/fs/read", ...), with its query.
 * Makes the session longer if it would end soon. *SESSION: the id, for sandbox_wake. Both are to be freed; NULL when
 * out of memory.
 */
char *sandbox_target(struct sandlot_call *call, struct sandbox *sandbox, const char *operation, char **session);

/* It is used in a way of which the API hears nothing: makes the session longer if it would end soon. */
FUNCTION_OF(http_relay, live_on, sandbox_live_on);

/* The path without a request of its own: for what must be quick. */
char *sandbox_target_now(struct sandbox *sandbox, const char *operation);

/*
 * SESSION has refused: it is over, or about to be. Waits for the end and starts another one. SANDLOT_NOT_FOUND: there
 * is no other, for the sandbox is gone, or its files are.
 */
enum sandlot_status sandbox_wake(struct sandlot_call *call, struct sandbox *sandbox, const char *session);

/* A session that runs, another one if the last is over, is the sandbox's from now on. RECORD as in record_get. */
enum sandlot_status sandbox_renew(struct sandlot_call *call, struct sandbox *sandbox, struct record *record);

/* Is STATUS with the word CODE the refusal of a session that is over? What was refused so has not run. */
bool sandbox_is_refusal(int status, const char *code);

/* How long a session surely lasts without being made longer. */
int64_t sandbox_lasts_ms(struct sandbox *sandbox);

/* Waits until the sandbox NAME is in PHASE. */
enum sandlot_status sandbox_wait_for(struct sandlot_call *call, struct vercel *vercel, const char *name,
                                     enum phase phase, struct record *record);

/* Starts sandbox NAME again, whatever it does, and waits until it runs. */
enum sandlot_status sandbox_start(struct sandlot_call *call, struct vercel *vercel, const char *name,
                                  struct record *record);

#endif

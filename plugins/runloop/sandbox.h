/* A devbox that is in use: made or found, brought to run, woken when it has gone to rest. */
#ifndef SANDLOT_RUNLOOP_SANDBOX_H
#define SANDLOT_RUNLOOP_SANDBOX_H

#include "record.h"

#include <sandlot/sdk/http_relay.h>

/* What get_or_create stores. */
struct sandbox {
    struct runloop *runloop;
    char *id;
    struct http_relay_places places;
    atomic_bool running; /* the newest answer said so */
};

/* By which of them Runloop refuses what a devbox has to run for, nobody says for all requests. */
#define SANDBOX_REFUSALS 400, 409, 422
bool sandbox_is_refusal(int status);

FUNCTION_OF(sandlot_provider, get_or_create, sandbox_get_or_create);
FUNCTION_OF(sandlot_provider, ready, sandbox_ready);
FUNCTION_OF(sandlot_provider, release, sandbox_release);

/*
 * One look, of WINDOW_S seconds at most, on the way to running: what is suspended is resumed. WORD: Runloop's.
 * SANDLOT_UNAVAILABLE with WORD not empty: it is not there yet, and the call has not failed.
 */
enum sandlot_status sandbox_look(struct sandlot_call *call, struct runloop *runloop, const char *id, int window_s,
                                 char word[32]);

/* Waits until nothing is under way with the devbox. After WINDOW_S seconds it gives up with an empty *RECORD. */
enum sandlot_status sandbox_wait_for_rest(struct sandlot_call *call, struct runloop *runloop, const char *id,
                                          int window_s, struct record *record);

/* Fails the call with what has ended. */
enum sandlot_status sandbox_is_gone(struct sandlot_call *call, const struct record *record);

/* Looks until it runs. */
enum sandlot_status sandbox_bring_up(struct sandlot_call *call, struct runloop *runloop, const char *id);

/* Orders a change ("suspend", "resume"). *REFUSED: it is in no state for that. */
enum sandlot_status sandbox_change(struct sandlot_call *call, struct runloop *runloop, const char *id,
                                   const char *change, bool *refused);

/*
 * A request was refused, which may be because of its content or of a devbox that does not run. *RUNNING: it runs,
 * so it was the content. SANDLOT_OK otherwise: it did not, but does now, and the request may be sent again.
 */
enum sandlot_status sandbox_wake(struct sandlot_call *call, const struct sandbox *sandbox, bool *running);

#endif

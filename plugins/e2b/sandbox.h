/* A sandbox in use. */
#ifndef SANDLOT_E2B_SANDBOX_H
#define SANDLOT_E2B_SANDBOX_H

#include "record.h"

#include <sandlot/sdk/http_relay.h>

#define WORKING_DIR "/home/user"

enum { SANDBOX_HEADERS = 6, SANDBOX_HEADER = 64 + RECORD_LONGEST_TOKEN };

/* What the host holds of a sandbox. Calls for one sandbox may overlap. */
struct sandbox {
    struct e2b *e2b;
    char *id;
    char *domain; /* of its ports */
    struct http_relay_places places;
    char *user;           /* NULL: the template's */
    bool has_credentials; /* they are added to its requests */
    pthread_mutex_t lock; /* of what follows */
    char *address;        /* of its daemon */
    char *token;          /* NULL: it has none */
    int64_t ends_ms;      /* when its time is up, by timestamp_steady_now; 0: unknown */
    int64_t rest_ms;      /* it is to live so long without use */
    int64_t until_ms;     /* but never longer than until then; 0: no matter */
};

FUNCTION_OF(sandlot_provider, get_or_create, sandbox_get_or_create);
FUNCTION_OF(sandlot_provider, release, sandbox_release);

/* The way to its daemon: what each request needs. */
struct sandbox_way {
    char *target; /* to be freed; NULL when out of memory */
    char lines[SANDBOX_HEADERS][SANDBOX_HEADER];
    const char *headers[SANDBOX_HEADERS + 1];
};

/* The way to OPERATION, a path that may have a query. Makes the sandbox live longer if its time is nearly up; not so if
 * this is URGENT. */
void sandbox_find_way(struct sandlot_call *call, struct sandbox *sandbox, const char *operation, bool urgent,
                      struct sandbox_way *way);

/* The same for /files, with the path of a file unless that is NULL, and the user. */
void sandbox_find_files(struct sandlot_call *call, struct sandbox *sandbox, const char *path, struct sandbox_way *way);

void sandbox_way_clear(struct sandbox_way *way);

/* It is used in a way of which the daemon hears nothing: makes it live longer if its time is nearly up. */
FUNCTION_OF(http_relay, live_on, sandbox_live_on);

#define AUTO_WAY CLEANUP(sandbox_way_clear)

/*
 * The daemon was not there (502, 409), or did not know the token (401): wakes the sandbox if it is paused, and learns
 * its token and address anew. SANDLOT_OK: try again. SANDLOT_NOT_FOUND: it is gone.
 */
enum sandlot_status sandbox_wake(struct sandlot_call *call, struct sandbox *sandbox);

/* Is STATUS one after which that is worth a try? */
bool sandbox_may_sleep(int status);

/* How long it surely lives without being made to live longer. */
int64_t sandbox_lasts_ms(struct sandbox *sandbox);

#endif

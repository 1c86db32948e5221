/* A sandbox at Daytona that is in use: made or found, brought to run, woken when it has gone to rest. */
#ifndef SANDLOT_DAYTONA_SANDBOX_H
#define SANDLOT_DAYTONA_SANDBOX_H

#include "record.h"

#include <sandlot/sdk/http_relay.h>

/* What get_or_create stores. All but the last three stay as they are made, so that calls may overlap. */
struct sandbox {
    struct daytona *daytona;
    char *id;
    struct http_client *toolbox; /* the provider's */
    bool attached;               /* it is somebody else's, and a failure of it may be mended */
    bool ask_working_dir;        /* where commands start is not known yet */
    bool is_public;              /* whoever knows the address of a port gets in */
    bool started;                /* the newest answer said so */
    bool recovered;              /* a failure has been mended once, which is enough */
    struct http_relay_places places;
};

FUNCTION_OF(sandlot_provider, get_or_create, sandbox_get_or_create);
FUNCTION_OF(sandlot_provider, ready, sandbox_ready);
FUNCTION_OF(sandlot_provider, release, sandbox_release);

/*
 * The toolbox has refused a request. Whether the sandbox is to blame only the control API knows: one that has gone to
 * rest is started again. SANDLOT_OK: it runs, and the request may be sent again. SANDLOT_NOT_FOUND: it is gone.
 */
enum sandlot_status sandbox_wake(struct sandlot_call *call, struct sandbox *sandbox);

/* Is this answer of the toolbox one that it also gives when the sandbox does not run, or by mistake? */
bool sandbox_trouble(const struct http_response *response);

/* Starts the resting sandbox of RECORD. SANDLOT_OK: it has started; SANDLOT_UNAVAILABLE, without a word to the host: it
 * is on its way. */
enum sandlot_status sandbox_start(struct sandlot_call *call, struct daytona *daytona, const struct record *record);

#endif

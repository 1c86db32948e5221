/*
 * The one sandbox behind the server: made when it is first needed, shared by all calls, made again when it was lost,
 * deleted at the end. Calls that come while it is being made wait for that one; a failure is told to those that waited,
 * and the next call tries again.
 */
#ifndef SANDLOT_SERVER_HOLDER_H
#define SANDLOT_SERVER_HOLDER_H

#include <sandlot/sandlot.h>
#include <stdatomic.h>
#include <stdbool.h>

struct holder;

/* Whose sandbox it is. */
enum tenure {
    TENURE_OWNED, /* made by this server, and ends with it */
    TENURE_SCOPE, /* found or made by its key, and stays */
    TENURE_GUEST  /* attached to by its id, and stays */
};

struct holder_options {
    struct sandlot *sandlot;
    const char *provider;
    const char *sandbox_id;
    const char *snapshot_name;
    const char *setup_file;
    const char *scope;
    const char *network; /* what a sandbox that is made may reach, as in sandlot_session_options */
    const char *const *allow;
    const char *const *volumes;
    const char *const *parameters;
    const char *config_file; /* as it was given; NULL: none */
};

/* OPTIONS and what it points to must live as long. NULL when out of memory or descriptors. */
struct holder *holder_new(const struct holder_options *options);

enum tenure holder_tenure(const struct holder *holder);

/* Has it made in the background, unless it is there. */
void holder_begin(struct holder *holder);

/* The session, to be given back; waits while it is being made. NULL with the reason, which is SANDLOT_CODE_CANCELLED
 * once *CANCELLED is true and holder_wake was called. */
struct sandlot_session *holder_borrow(struct holder *holder, const atomic_bool *cancelled, struct sandlot_error *error);

/* The sandbox of this session has ended without us: the next holder_borrow makes or finds another one. */
void holder_lost(struct holder *holder, struct sandlot_session *session);

void holder_give_back(struct holder *holder, struct sandlot_session *session);

/* Somebody's *CANCELLED has changed. */
void holder_wake(struct holder *holder);

/* Is it being made right now? */
bool holder_is_making(struct holder *holder);

/*
 * The end: an owned sandbox is deleted now, while calls may still run in it; what is being made is cancelled and
 * undone. Nothing can be borrowed any more. 0; or -1 after a warning that names what is left.
 */
int holder_delete(struct holder *holder);

/* Frees it after that, and closes the session. All must have been given back. */
void holder_free(struct holder *holder);

#endif

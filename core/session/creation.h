/* What creating a sandbox and forking one have in common: the intent that goes into the ledger first, and the request.
 */
#ifndef SANDLOT_SESSION_CREATION_H
#define SANDLOT_SESSION_CREATION_H

#include "session/ledger.h"
#include "session/runtime.h"

/* What a sandbox is asked for with. */
struct creation_wish {
    const struct sandlot *sandlot;
    const struct provider *provider;
    const char *scope; /* NULL: none */
    const char *name;  /* what people will call it; NULL: nothing */
    int cancel_fd;
    const char *const *parameters; /* "KEY=VALUE", ended by NULL; or NULL */
    struct json_object *network;   /* what the ledger shall remember of its policy; not taken over; NULL: nothing */
};

/* The record of a sandbox that is about to be asked for, on disk; NULL on error. */
struct ledger_record *creation_write_intent(const struct creation_wish *wish, struct sandlot_error *error);

/* Could a request that ended like this have made a sandbox that we were not told of? */
bool creation_may_have_happened(enum sandlot_status status);

/* A request and what it points to. */
struct creation {
    struct sandlot_create request;
    struct sandlot_label labels[5];
    char *created;
};

/* The request for the sandbox of RECORD, whose texts it points to. To be cleared. */
void creation_make(struct creation *creation, const struct ledger_record *record, const struct provider *provider,
                   const struct sandlot_network *network);
void creation_clear(struct creation *creation);

#endif

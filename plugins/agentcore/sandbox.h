/* A session in use: creating it, attaching to it. */
#ifndef SANDLOT_AGENTCORE_SANDBOX_H
#define SANDLOT_AGENTCORE_SANDBOX_H

#include "api.h"

#define WORKING_DIR "/tmp"

/* What is known of a session's nursery: see nursery.h. */
enum nursery_state { NURSERY_UNKNOWN, NURSERY_NONE, NURSERY_THERE };

/* What the host holds of a session. Calls for one may overlap. */
struct sandbox {
    struct agentcore *agentcore;
    char *id;
    pthread_mutex_t lock; /* held while a nursery is opened: one is enough */
    _Atomic(enum nursery_state) nursery;
};

FUNCTION_OF(sandlot_provider, get_or_create, sandbox_get_or_create);
FUNCTION_OF(sandlot_provider, release, sandbox_release);

#endif

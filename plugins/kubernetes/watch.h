/* Watching one object until it is as it should be. */
#ifndef SANDLOT_KUBERNETES_WATCH_H
#define SANDLOT_KUBERNETES_WATCH_H

#include "api.h"

struct watch {
    struct kubernetes *kubernetes;
    const char *group;  /* NULL: the core's */
    const char *plural; /* "pods" */
    const char *name;
    char **version; /* what was seen last, as its owner keeps it; *VERSION NULL: nothing. Replaced as it goes. */

    /*
     * Looks at the object. SANDLOT_OK: it is as it should be. SANDLOT_UNAVAILABLE: not yet, and nothing was told to
     * the call; why not may be noted in the context. Anything else ends the wait.
     */
    enum sandlot_status (*judge)(struct sandlot_call *call, void *context, struct json_object *object);
    void *context;
};

/*
 * Watches for WINDOW_MS at most. SANDLOT_UNAVAILABLE with *PENDING true: not yet. SANDLOT_NOT_FOUND: it has been
 * deleted. Streams that end or break are begun again where they were; a version that is too old (410) is replaced by a
 * look at the object.
 */
enum sandlot_status watch_object(struct sandlot_call *call, struct watch *watch, int window_ms, bool *pending);

#endif

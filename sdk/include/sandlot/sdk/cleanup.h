/*
 * sandlot/sdk/cleanup.h - owned resources that release themselves at the end of their scope, so that no early return
 * forgets one.
 *
 *   AUTO_FREE char *target = http_target("/boxes/{}", id);
 *   AUTO_RESPONSE struct http_response response = {0};
 *
 *   if (!target)
 *       return sandlot_fail(...);
 *
 * Such a variable must have a value where it is declared: NULL, {0} or -1 if there is nothing yet. They are released in
 * reverse order. For resources of your own: CLEANUP(function), which gets the variable's address. For gcc and clang.
 */
#ifndef SANDLOT_SDK_CLEANUP_H
#define SANDLOT_SDK_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CLEANUP(function) __attribute__((cleanup(function)))

#define AUTO_FREE CLEANUP(cleanup_free)            /* whatever malloc gave */
#define AUTO_CLOSE CLEANUP(cleanup_close)          /* int: a descriptor, or -1 */
#define AUTO_DOCUMENT CLEANUP(json_release)        /* struct json_object *; with json.h */
#define AUTO_RESPONSE CLEANUP(http_response_clear) /* struct http_response; with http.h */

static inline void cleanup_free(void *pointer)
{
    free(*(void **)pointer);
}

static inline void cleanup_close(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

/* Hands a descriptor over to somebody else: the scope no longer closes it. */
static inline int take_fd(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

#ifdef __cplusplus
}
#endif

#endif

/*
 * Files to their places, by one command: what has been stored in a folder, or is so short that the command carries it.
 */
#ifndef SANDLOT_DAYTONA_PLACING_H
#define SANDLOT_DAYTONA_PLACING_H

#include "sandbox.h"

/* One file. If FOLDER/INDEX does not have all its BYTES, nothing happens to TARGET. */
struct placing {
    const char *target;
    uint64_t bytes;
    uint32_t mode;       /* of a new file; 0: 0666 less the umask */
    const char *content; /* NULL: it has been stored */
    bool left_out;       /* its fate is known already */
};

enum { PLACING_CARRIED = 48 * 1024 }; /* so many bytes of content one command carries */

/*
 * Puts FILES in place and removes FOLDER. TELL hears the fate of each: NULL or what sandlot_transfer.done takes. A file
 * that has not come whole has none. *LACKING: nothing was done, for the sandbox has no tool for content.
 */
enum sandlot_status placing_run(struct sandlot_call *call, struct sandbox *sandbox, const char *folder,
                                const struct placing *files, size_t count,
                                void (*tell)(void *context, size_t index, const char *error), void *context,
                                bool *lacking);

#endif

/* Finds and reads provider libraries on disk, without executing any of their code. */
#ifndef SANDLOT_REGISTRY_DISCOVERY_H
#define SANDLOT_REGISTRY_DISCOVERY_H

#include "registry/entry_points.h"

#include <sys/types.h>

/* One file that could be a provider library. */
struct library {
    char *path;
    dev_t device; /* with inode: the file's identity */
    ino_t inode;
    enum entry_points_result result;
    struct entry_points points; /* with ENTRY_POINTS_FOUND */
    char *problem; /* what concerns the whole file, untrusted folders included: why, and what to do; NULL: nothing */
};

/* Reads the one library PATH. False: out of memory. To be cleared with library_clear in any case. */
bool library_read(const char *path, struct library *library);

void library_clear(struct library *library);

/*
 * Reads every *.so of FOLDER, by name in byte order, and hands each to EACH, which may take parts of it by setting them
 * to NULL; the rest is cleared afterwards. A file for whose PATH PASSES (NULL: no file) is true is left unread. A
 * folder that is not there is as good as empty, one that cannot be read gives a warning. False: out of memory.
 */
bool discovery_scan(const char *folder, bool (*passes)(void *context, const char *path),
                    bool (*each)(void *context, struct library *library), void *context);

#endif

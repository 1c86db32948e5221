/*
 * Walks over the storage of boxes. What lies there was made by untrusted code: links are never followed, folders
 * without any permission are entered all the same, depth is bounded. Nothing here allocates memory, because it runs on
 * threads beside the one that clones boxes: a lock of malloc(3) held at that moment would stay locked in the box for
 * ever.
 */
#ifndef SANDLOT_LOCAL_WALK_H
#define SANDLOT_LOCAL_WALK_H

#include <stdbool.h>
#include <stdint.h>

struct usage {
    uint64_t bytes; /* on disk; a file with several names counts once */
    uint64_t entries;
};

/* The entries of a tree deeper than any tool makes, or than this process may have descriptors: it is not counted. */
#define WALK_TOO_DEEP UINT64_MAX

/* Adds up what lies in the folder NAME of FOLDER_FD; stops beyond LIMIT. */
void walk_measure(int folder_fd, const char *name, const struct usage *limit, struct usage *usage);

/* Is NAME of FOLDER_FD an empty folder that can be read? */
bool walk_is_empty(int folder_fd, const char *name);

/* Removes all that is in the folder TRASH_FD. False if something would not go. */
bool walk_empty(int trash_fd);

#endif

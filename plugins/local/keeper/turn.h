/*
 * Turning what a box has written into a layer as it is: nothing is copied, however much that is.
 *
 * It needs a box that stands still (hold.h) and has no process but its init. Each place of KEPT_PLACES gets a new
 * overlay, of an empty upper folder over the old one and all that lay below that; then the old folder is the layer's.
 * The old mounts are read-only before that, so that nobody who still has a folder of theirs open, such as the host's
 * file operations, changes the layer; who has a file open for writing keeps the box from being turned.
 *
 * A box that lies on too many layers is laid on one that has everything, and which somebody has copied before: a
 * rebase. The old upper folder is then not needed any more.
 *
 * Whoever reads the record and the upper folders of the box sees all that it has written at any moment, if he opens
 * the upper folder before he reads the record.
 */
#ifndef SANDLOT_LOCAL_TURN_H
#define SANDLOT_LOCAL_TURN_H

#include "../box/overlay.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define TURN_RECORD ".record.turned"

enum { TURN_NAME_SIZE = 48 };

/* What a box has for it, of MESSAGE_STORAGE. */
struct kept {
    int fds[KEPT_FDS];            /* -1: nothing, it can never be turned */
    uint64_t mounts[KEPT_PLACES]; /* what is mounted now, as statx(2) numbers it */
    unsigned turned;              /* how often it was */
    unsigned base;                /* only what was turned after so many times still lies below it */
    unsigned tries;               /* and how often it was tried */
    pid_t leaving;                /* the child of the last turn, which takes the old mounts with it; 0: none */
};

struct turn {
    struct kept *kept;
    uid_t uid; /* whose the storage is, */
    gid_t gid;
    uid_t inside_id;          /* and what his number is in the box */
    size_t layer_count;       /* how many layers the box began with, if it still lies on them */
    int storage_fd;           /* the storage, in the keeper's own mount namespace */
    int layer_fd;             /* the new layer, without the folders of KEPT_PLACES */
    int folder_fd;            /* of the box, with its next record, by the name TURN_RECORD */
    bool rebase;              /* the layer is whole, and takes the place of all others */
    bool wanted[KEPT_PLACES]; /* turn_make finds out: the box has written there */
};

enum turn_result {
    TURN_DONE,
    TURN_NOT,   /* nothing has changed */
    TURN_BROKEN /* the box is of no use any more */
};

/* Only where the box has written anything it gets another overlay, which takes the kernel longest; after a rebase
 * everywhere. */
enum turn_result turn_make(struct turn *turn);

/* Where a rebase leaves in the storage what was the upper folder of PLACE, for the caller to remove. */
void turn_left_name(char name[TURN_NAME_SIZE], size_t place);

/* Waits for what the last turn has left behind. */
void turn_await(struct kept *kept);

#endif

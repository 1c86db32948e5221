/*
 * Watches what the kernel does not limit: the disk space of every box and, where there is no control group for it, its
 * memory. A thread that looks ten times a second at little cost; what to do about a box is the business of the thread
 * that owns the boxes.
 */
#ifndef SANDLOT_LOCAL_GUARD_H
#define SANDLOT_LOCAL_GUARD_H

#include "../box/box.h"
#include "walk.h"

#include <sys/types.h>

enum guard_verdict {
    GUARD_FINE,
    GUARD_OVER_MEMORY,     /* its commands are to be killed */
    GUARD_OVER_DISK,       /* the same */
    GUARD_FAR_OVER,        /* it goes on growing: the box is to be ended */
    GUARD_TOO_DEEP,        /* what it has cannot be counted: the same */
    GUARD_FAR_OVER_MEMORY, /* the end of its commands would not free what it has: the same */
    GUARD_OVER_VOLUME,     /* a volume that it writes to holds too much: its commands are to be killed */
    GUARD_FAR_OVER_VOLUME  /* it goes on growing: the box is to be ended */
};

/* A volume that a box writes to. */
struct guarded_volume {
    const char *name;
    uint64_t limit_bytes;
};

struct guarded;

/* Starts the thread. BOXES_FD is the folder of all boxes; WAKE_FD an eventfd that is written to when there is a
 * verdict. 0 or -1. */
int guard_start(int boxes_fd, int wake_fd);

/* Begins to watch box ID whose init is PID, and the VOLUMES that it writes to. MEMORY_BYTES 0: not to be watched.
 * CHARGED: a control group holds that, but for what the kernel charges to none. Takes over GAUGES, -1 where there is
 * none. NULL: out of memory. */
struct guarded *guard_add(const char *id, pid_t pid, uint64_t disk_bytes, uint64_t memory_bytes, bool charged,
                          const int gauges[BOX_GAUGES], const struct guarded_volume *volumes, size_t volume_count);

/* Ends that. NULL is fine. */
void guard_remove(struct guarded *guarded);

/* How many bytes the box has in its storage at most, unless others have freed space meanwhile; UINT64_MAX: that cannot
 * be told now. */
uint64_t guard_estimate(struct guarded *guarded);

/* What the box had in its storage is no longer there. */
void guard_forget(struct guarded *guarded);

/* What was found since the last call. */
enum guard_verdict guard_take(struct guarded *guarded);

#endif

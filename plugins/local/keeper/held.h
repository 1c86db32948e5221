/*
 * What the processes of a box hold that no folder shows: removed files that are still open or mapped, memory files,
 * memory that several processes share, and about what the kernel keeps for descriptors and mappings. Nothing here
 * allocates memory, for the reason that walk.h gives, and one thread at a time may use it.
 *
 * What a descriptor holds is counted exactly. Of what is only mapped root learns the size; for everybody else it is as
 * much as is mapped. Descriptors that nobody has received yet are not seen.
 */
#ifndef SANDLOT_LOCAL_HELD_H
#define SANDLOT_LOCAL_HELD_H

#include "proc.h"

struct held {
    uint64_t disk_bytes;
    uint64_t memory_bytes; /* that belongs to no process and to no file system of the box */
};

/* BOX_MEMORY: the device of the box's own file system in memory, 0 if it has none; what lies there is counted there. */
void held_measure(const struct members *members, dev_t box_memory, struct held *held);

#endif

/* Stopping all that runs in a box for a moment, its init included, so that its files stand still. */
#ifndef SANDLOT_LOCAL_HOLD_H
#define SANDLOT_LOCAL_HOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct held_process {
    pid_t pid;
    int64_t start_time; /* with the number it names a process for good */
};

/* What was stopped, parents before their children. */
struct hold {
    struct held_process *processes;
    size_t count;
    size_t capacity;
    bool idle; /* there is no process but init */
};

/* Stops INIT and all below it; waits until nothing of that runs. False: it was not possible in time, and all goes on.
 */
bool hold_begin(struct hold *hold, pid_t init);

/* Lets go on what was stopped, but nothing that somebody else had stopped before. HOLD is empty afterwards. */
void hold_end(struct hold *hold);

#endif

/* The process that guards a box's open network: see outside.h. */
#ifndef SANDLOT_LOCAL_OUTSIDE_GUARD_H
#define SANDLOT_LOCAL_OUTSIDE_GUARD_H

#include <sys/types.h>

enum { OUTSIDE_GUARD_READY = 'r', OUTSIDE_GUARD_TEXT = 512 };

struct outside_guard {
    int network_fd;
    int user_fd;
    int keeper_fd; /* a socket: it tells OUTSIDE_GUARD_READY or a sentence, and ends when that has ended */
    pid_t keeper;
};

/* In a fresh copy of the keeper: becomes the guard. */
_Noreturn void outside_guard_become(const struct outside_guard *guard);

#endif

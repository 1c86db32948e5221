/* Why a box could not be made: one sentence that says what failed, the usual cause, and what to do. */
#ifndef SANDLOT_LOCAL_REASON_H
#define SANDLOT_LOCAL_REASON_H

#include <stdbool.h>
#include <stddef.h>

struct reason {
    char text[480];
};

/* Sets the sentence, unless there is one already: the first counts. Returns -1. */
int reason_set(struct reason *reason, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A user namespace could not be made or filled with a map: finds out which switch of this machine forbids it. */
int reason_user_namespace(struct reason *reason, const char *step, int error);

/* A mount of kind TYPE ("proc", "overlay", "tmpfs", "bind", ...) at WHERE failed. */
int reason_mount(struct reason *reason, const char *type, const char *where, int error);

#endif

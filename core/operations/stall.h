/*
 * The end of a transfer in which nothing moves: a descriptor that becomes readable, as a cancellation does, when the
 * caller cancels or when too long nothing has moved.
 */
#ifndef SANDLOT_OPERATIONS_STALL_H
#define SANDLOT_OPERATIONS_STALL_H

#include <sandlot/sandlot.h>

struct stall {
    int fd;        /* to be passed on as cancel_fd */
    int timer_fd;  /* runs out FILE_STALL_MS after the last bytes */
    int cancel_fd; /* the caller's, or -1 */
};

/* 0 or -1. To be ended in any case. */
int stall_start(struct stall *stall, int cancel_fd, struct sandlot_error *error);
void stall_end(struct stall *stall);

/* Something has moved. */
void stall_moved(const struct stall *stall);

/* Turns the cancellation that a stall has caused into SANDLOT_CODE_TIMEOUT; another error stays as it is. */
void stall_explain(const struct stall *stall, const char *shown, struct sandlot_error *error);

#endif

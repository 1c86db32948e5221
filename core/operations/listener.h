/* Sockets that listen on this machine: one address, or both loopbacks with the same port. */
#ifndef SANDLOT_OPERATIONS_LISTENER_H
#define SANDLOT_OPERATIONS_LISTENER_H

#include <sandlot/sandlot.h>

enum { LISTENER_SOCKETS = 2 };

struct listener {
    int fds[LISTENER_SOCKETS]; /* -1: none */
    uint16_t port;
};

/*
 * Listens on ADDRESS (numeric; NULL: 127.0.0.1, and ::1 if the machine has it) and PORT (0: a free one). 0, to be
 * closed; or -1 with SANDLOT_CODE_USAGE (no address), SANDLOT_CODE_CONFLICT (taken), SANDLOT_CODE_PERMISSION_DENIED.
 */
int listener_open(struct listener *listener, const char *address, uint16_t port, struct sandlot_error *error);

void listener_close(struct listener *listener);

#endif

/* How a command that ran over pods/exec ended: the Status object on its error channel. */
#ifndef SANDLOT_KUBERNETES_STATUS_H
#define SANDLOT_KUBERNETES_STATUS_H

#include <stdbool.h>
#include <stddef.h>

enum { STATUS_WHY = 512 };

struct exec_status {
    bool ran; /* there is an exit code */
    int exit_code;
    char why[STATUS_WHY]; /* otherwise: what the node says */
};

/* False: TEXT is no Status, and nobody knows how it ended. */
bool status_read(const char *text, size_t length, struct exec_status *status);

#endif

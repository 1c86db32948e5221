/* Pseudo-terminals, as a process of the box opens them: pty(7). */
#ifndef SANDLOT_LOCAL_PTY_H
#define SANDLOT_LOCAL_PTY_H

#include <stdint.h>

struct pty {
    int controller; /* what is written here is typed; what is read here is shown. The last one who closes it hangs up */
    int terminal;   /* for the command: its input, output and errors */
};

/* Opens a new pair of that window size; both are close-on-exec, neither becomes the caller's terminal. 0 or -1 with
 * errno; the members of *PTY are then -1. */
int pty_open(uint16_t rows, uint16_t columns, struct pty *pty);

/* Makes TERMINAL the controlling terminal of the caller, who leads a session. Between vfork and exec. */
int pty_control(int terminal);

#endif

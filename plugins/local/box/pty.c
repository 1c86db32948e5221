#include "pty.h"

#include <sandlot/sdk/cleanup.h>

#include <fcntl.h>
#include <sys/ioctl.h>

int pty_open(uint16_t rows, uint16_t columns, struct pty *pty)
{
    const struct winsize size = {.ws_row = rows, .ws_col = columns};
    const int flags = O_RDWR | O_NOCTTY | O_CLOEXEC;
    const int unlocked = 0;

    *pty = (struct pty){-1, -1};
    AUTO_CLOSE int controller = open("/dev/ptmx", flags);

    if (controller < 0 || ioctl(controller, TIOCSPTLCK, &unlocked) < 0 || ioctl(controller, TIOCSWINSZ, &size) < 0)
        return -1;
    /* Not by its name: that would have to be looked up in a /dev/pts that may be another. */
    const int terminal = ioctl(controller, TIOCGPTPEER, flags);

    if (terminal < 0)
        return -1;
    *pty = (struct pty){take_fd(&controller), terminal};
    return 0;
}

int pty_control(int terminal)
{
    return ioctl(terminal, TIOCSCTTY, 0);
}

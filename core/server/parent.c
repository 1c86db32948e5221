#include "server/parent.h"

#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

int parent_watch(void)
{
    pid_t parent = getppid();

    if (parent <= 0)
        return -1; /* it is outside of our pid namespace */
    int fd = (int)syscall(SYS_pidfd_open, parent, 0);

    if (getppid() == parent)
        return fd;
    /* It ended meanwhile, and its number may be somebody else's by now. */
    if (fd >= 0)
        close(fd);
    return eventfd(1, EFD_CLOEXEC);
}

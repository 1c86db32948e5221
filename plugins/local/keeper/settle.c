#include "settle.h"

#include <fcntl.h>
#include <unistd.h>

enum { FIRST_SETTLED = 256 };

void settle_descriptor(int *fd)
{
    const int settled = *fd < 0 || *fd >= FIRST_SETTLED ? -1 : fcntl(*fd, F_DUPFD_CLOEXEC, FIRST_SETTLED);

    if (settled < 0)
        return;
    close(*fd);
    *fd = settled;
}

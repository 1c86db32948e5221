#include "uses.h"

#include <unistd.h>

bool uses_add(struct uses *uses, int fd)
{
    if (uses->count == USES) {
        close(fd);
        return false;
    }
    uses->fds[uses->count++] = fd;
    return true;
}

void uses_fill_poll(const struct uses *uses, struct pollfd *fds)
{
    for (size_t i = 0; i < uses->count; i++)
        fds[i] = (struct pollfd){uses->fds[i], 0, 0}; /* that nobody can write any more is told in any case */
}

bool uses_end(struct uses *uses, const struct pollfd *fds, size_t count)
{
    bool any = false;

    /* From the end, because a removal moves the last one to the free place. */
    for (size_t i = count; i-- > 0;) {
        if (!fds[i].revents)
            continue;
        close(uses->fds[i]);
        uses->fds[i] = uses->fds[--uses->count];
        any = true;
    }
    return any;
}

/* Uses of a box that its init does not carry itself: each is a pipe whose writing end is open for as long as it lasts.
 */
#ifndef SANDLOT_LOCAL_BOX_USES_H
#define SANDLOT_LOCAL_BOX_USES_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

enum { USES = 512 };

struct uses {
    int fds[USES]; /* reading ends */
    size_t count;
};

/* Takes the reading end FD over. False, and it is closed: there are too many. */
bool uses_add(struct uses *uses, int fd);

/* Writes down what to wait for, an entry each. */
void uses_fill_poll(const struct uses *uses, struct pollfd *fds);

/* Lets go of those that have ended; FDS are the first COUNT of them. Returns whether there were any. */
bool uses_end(struct uses *uses, const struct pollfd *fds, size_t count);

#endif

/* The pair of devices between a box and its gate. FD is of rtnetlink_open, for the calling thread's network namespace.
 */
#ifndef SANDLOT_LOCAL_GATE_LINK_H
#define SANDLOT_LOCAL_GATE_LINK_H

#include <stdbool.h>

enum gate_end { GATE_END_BOX, GATE_END_GATE };

/* Makes the pair: one end in the calling thread's network namespace, the other in the box's, BOX_FD. 0, or -1 with
 * errno. */
int gate_link_make(int fd, int box_fd);

/* Gives the END that is in the calling thread's network namespace its addresses, WITH_6 those of version 6 too, and
 * brings it up. 0, also if it is so already; -1 with errno. */
int gate_link_start(int fd, enum gate_end end, bool with_6);

/* Removes the pair. The calling thread is in the box's network namespace. Likewise. */
int gate_link_remove(void);

#endif

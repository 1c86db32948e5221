/* The interface of a box's open network, from the inside of its network namespace. */
#ifndef SANDLOT_LOCAL_TAP_LINK_H
#define SANDLOT_LOCAL_TAP_LINK_H

#include <stdbool.h>

/* Gives the interface LINK_NAME, in the calling thread's network namespace, its addresses and default routes: of
 * version 4 and of 6 as asked. 0, or -1 with errno. */
int tap_link_up(bool four, bool six);

/* The descriptor of that interface in the process behind PIDFD, as one of ours; -1: it has none yet. */
int tap_link_find(int pidfd);

#endif

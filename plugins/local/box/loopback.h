/* The loopback interface of a network namespace. */
#ifndef SANDLOT_LOCAL_LOOPBACK_H
#define SANDLOT_LOCAL_LOOPBACK_H

#include <stdint.h>

/* Brings up "lo" in the calling thread's network namespace, where it is the only interface there is. 0, or -1 with
 * errno. */
int loopback_start(void);

/* A listener on PORT of 127.0.0.1, close-on-exec. -1 with errno. */
int loopback_listen(uint16_t port);

#endif

/* The keeper's threads beside the one that makes boxes. */
#ifndef SANDLOT_LOCAL_THREAD_H
#define SANDLOT_LOCAL_THREAD_H

#include <stddef.h>

/*
 * Starts a thread for the rest of the process, with a stack of SIZE bytes. A box begins as a copy of the process, and
 * the copy has no such stack: it is nobody's there, and the pages that this thread goes on writing to would stay the
 * box's own. So a copy must not be made by fork(3), which looks for the stacks of threads, but by _Fork(3) or
 * clone3(2). 0, or -1 with errno.
 */
int thread_start(void *(*run)(void *), size_t size);

#endif
